import { type ChildProcess, spawn } from 'node:child_process';
import { cleanEnv, ENTRY, NODE } from '../cli/program.ts';

export interface ProgramUnderTest extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Resolves with the first line that matches. */
  line(pattern: RegExp): Promise<string>;
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
}

/** A running command of the relay, to be watched, stopped or killed. */
export function startProgram(
  args: readonly string[],
  o: { home: string; env?: { [name: string]: string } },
): ProgramUnderTest {
  const child = spawn(NODE, [ENTRY, ...args], {
    env: cleanEnv(o),
    cwd: o.home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  let looking: (() => void)[] = [];
  const look = () => {
    for (const each of looking) each();
  };
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
    look();
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on('close', (code) => {
      resolve({ code, stdout, stderr });
      look();
    });
  });
  return {
    child,
    ended,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = stdout
            .split('\n')
            .slice(0, -1)
            .find((line) => pattern.test(line));
          if (found !== undefined) resolve(found);
          else if (child.exitCode !== null || child.signalCode !== null) {
            reject(new Error(`ended without ${pattern}: ${stdout}${stderr}`));
          } else return;
          looking = looking.filter((each) => each !== check);
        };
        looking.push(check);
        check();
      }),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}
