import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** Between asking a command to end and making it. */
const GRACE_MS = 5_000;

export type LeashedShell = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Runs beside the command, in its group, and reads a pipe of which the other end is ours. A line means that all is done. The end
 * without a line means that we are gone, also by SIGKILL: it ends the group. It names no process, only the group it is in
 * itself (0), so it can never hit one that came by a number later. It is no child of the command, which may wait for its own.
 */
const watch = (endGroup: string) => `( { trap '' TERM INT HUP
read -r done || { ${endGroup}; }
} <&3 3<&- >/dev/null 2>&1 & )
exec 3<&-
exec "$@"`;

const ASKED_FIRST = watch(`kill -TERM 0; sleep ${GRACE_MS / 1000}; kill -KILL 0`);
const AT_ONCE = watch('kill -KILL 0');

interface LeashOptions {
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * A command for the shell, in a group of its own, so that what it has started ends with it, and with us if we are killed. On
 * Windows there are no such groups: there a command outlives a killed bridge.
 */
export function leashedShell(command: string, { cwd, env }: LeashOptions): LeashedShell {
  if (process.platform === 'win32') {
    return spawn(command, { shell: true, cwd, env, stdio: ['pipe', 'pipe', 'pipe'] });
  }
  return onLeash(ASKED_FIRST, ['/bin/sh', '-c', command], { cwd, env, stdin: 'pipe' }) as LeashedShell;
}

/**
 * A program in a group of its own that ends at once when we are killed, so that nothing of it goes on beside what takes its place. It
 * has to be there: the shell that starts it says nothing of one that is missing.
 */
export function leashedProgram(
  command: string,
  args: readonly string[],
  o: LeashOptions & { readonly stdin: 'pipe' | 'ignore' },
): ChildProcess {
  return onLeash(AT_ONCE, [command, ...args], o);
}

function onLeash(
  script: string,
  words: readonly string[],
  { cwd, env, stdin }: LeashOptions & { readonly stdin: 'pipe' | 'ignore' },
): ChildProcess {
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...words], {
    cwd,
    env,
    detached: true,
    stdio: [stdin, 'pipe', 'pipe', 'pipe'],
  });
  const leash = child.stdio[3] as Writable & Readable;
  leash.on('error', () => {});
  leash.resume();
  // What it left in the background and still writes to us is on the leash too.
  let open = 3;
  const ended = () => {
    if (--open === 0) leash.end('done\n');
  };
  child.once('exit', ended);
  for (const stream of [child.stdout, child.stderr]) stream!.once('close', ended);
  return child;
}

/** Signals a command and all that it has started, which would stay behind otherwise. */
export function signalGroup({ pid }: Pick<ChildProcess, 'pid'>, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // It has ended by itself.
  }
}

/** Calls `end` when the signal fires, and once more with force a while later. To be disposed once the end has come. */
export function endWhenAborted(signal: AbortSignal | undefined, end: (force: boolean) => void): Disposable {
  let forced: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    end(false);
    forced = setTimeout(() => end(true), GRACE_MS);
  };
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  return {
    [Symbol.dispose]: () => {
      clearTimeout(forced);
      signal?.removeEventListener('abort', stop);
    },
  };
}

/** How a process ended, in a sentence, with the last line that it wrote to standard error. */
export function whyEnded(who: string, code: number | null, signal: string | null, stderr: string): string {
  const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
  const said = stderr.trim().split('\n').at(-1)!.trim();
  return `The ${who} ${how}${said === '' ? '.' : `: ${said}`}`;
}
