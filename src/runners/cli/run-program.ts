import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { RelayError } from '../../base/errors.ts';
import { STEP_GRACE_MS } from '../../base/limits.ts';
import type { CommandLine } from './command-line.ts';

export interface ProgramOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** `terminal`: all three streams are ours. `output`: its stdout comes here, and stderr goes where ours goes. */
  readonly streams: 'terminal' | 'output' | 'all';
  /** Told of stdout as it comes; the program waits while this does. */
  onOutput?(chunk: Uint8Array): Promise<void> | void;
  /** With `all`, of stderr too. */
  onComplaint?(chunk: Uint8Array): void;
  /** Stops it and everything it started: asked first, then forced. */
  readonly signal?: AbortSignal;
  /** Whether it gets a process group of its own, so that a key at the terminal does not reach it. */
  readonly ownGroup?: boolean;
  /** Called once it runs, with a way to pass signals on. */
  started?(kill: (signal: NodeJS.Signals) => void): void;
}

export interface ProgramEnd {
  /** As a shell would say it: 128 and the number of the signal that ended it. */
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

/** Runs a program to its end. Rejects only where it could not be started. */
export async function runProgram(line: CommandLine, o: ProgramOptions): Promise<ProgramEnd> {
  const child = spawn(line.command, [...line.args], {
    env: o.env,
    cwd: o.cwd,
    detached: o.ownGroup === true && process.platform !== 'win32',
    stdio: stdio(line, o),
  });
  const ended = new Promise<ProgramEnd>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(notStarted(line.command, error)));
    child.once('close', (code, signal) => resolve({ code: code ?? 128 + number(signal), signal }));
  });
  // Whoever waits hears of it below; until then nobody does.
  ended.catch(() => {});
  const stop = () => end(child, o.ownGroup === true);
  if (o.signal?.aborted) stop();
  else o.signal?.addEventListener('abort', stop, { once: true });
  // A program that ends without reading what it was given is its own affair.
  child.stdin?.on('error', () => {});
  if (child.stdin) child.stdin.end(line.input ?? '');
  child.stderr?.on('data', (chunk: Uint8Array) => o.onComplaint?.(chunk));
  o.started?.((signal) => child.kill(signal));
  try {
    if (child.stdout) await drain(child, o).catch(() => {});
    return await ended;
  } finally {
    o.signal?.removeEventListener('abort', stop);
  }
}

function stdio(line: CommandLine, o: ProgramOptions): ('inherit' | 'pipe' | 'ignore')[] {
  if (o.streams === 'terminal') return ['inherit', 'inherit', 'inherit'];
  const input = line.input !== undefined ? 'pipe' : o.streams === 'all' ? 'ignore' : 'inherit';
  return [input, 'pipe', o.streams === 'all' ? 'pipe' : 'inherit'];
}

async function drain(child: ChildProcess, o: ProgramOptions): Promise<void> {
  for await (const chunk of child.stdout!) await o.onOutput?.(chunk as Uint8Array);
}

/** Asks, waits, and insists. */
function end(child: ChildProcess, group: boolean): void {
  const kill = (signal: NodeJS.Signals) => {
    try {
      if (group && child.pid !== undefined && process.platform !== 'win32') process.kill(-child.pid, signal);
      else child.kill(signal);
    } catch {
      // It is gone already.
    }
  };
  kill('SIGTERM');
  const timer = setTimeout(() => kill('SIGKILL'), STEP_GRACE_MS);
  timer.unref();
  child.once('close', () => clearTimeout(timer));
}

function number(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : (constants.signals[signal] ?? 0);
}

function notStarted(command: string, error: NodeJS.ErrnoException): RelayError {
  if (error.code === 'ENOENT')
    return new RelayError('missing', {
      what: `program ${command}`,
      hint: 'Install it, or give its whole path.',
    });
  return new RelayError('failed', { what: `${command} cannot be started (${error.code ?? error.message}).` });
}
