import { type ChildProcess, spawn } from 'node:child_process';
import { cleanEnv, ENTRY, NODE } from '../cli/program.ts';

/** A program that runs until it is stopped; it is killed when disposed. */
export interface Running extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Returns all output so far. */
  readonly output: () => string;
  /** Waits until the output matches, and returns the match. */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<number | null>;
}

export function start(
  args: readonly string[],
  o: { home: string; env?: Record<string, string>; entry?: string },
): Running {
  const child = spawn(o.entry ? process.execPath : NODE, [o.entry ?? ENTRY, ...args], {
    env: cleanEnv(o),
    cwd: o.home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let wake = () => {};
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      wake();
    });
  }
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      resolve(code);
      wake();
    });
  });
  return {
    child,
    output: () => output,
    ended,
    async waitForOutput(pattern) {
      for (;;) {
        const match = pattern.exec(output);
        if (match) return match;
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it ended:\n${output}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs `relay up` on a free port, or on the given one. */
export async function serve(
  home: string,
  o: { port?: number; env?: Record<string, string>; flags?: readonly string[] } = {},
): Promise<Running & { url: string }> {
  const running = start(['up', '--port', String(o.port ?? 0), ...(o.flags ?? [])], { home, env: o.env });
  const url = (await running.waitForOutput(/listening on (http:\S+)/))[1]!;
  return { ...running, url };
}
