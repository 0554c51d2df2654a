import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import { RelayError } from '../../base/errors.ts';
import { endWhenAborted, leashedProgram, signalGroup } from '../leashed-shell.ts';
import type { CommandLine } from './command-line.ts';
import { findProgram, isProgram } from './profiles.ts';

export interface ProgramOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** `terminal`: all three streams are ours. `output`: its stdout comes here, and stderr goes where ours goes unless `onComplaint` is told of it. */
  readonly streams: 'terminal' | 'output' | 'all';
  /** Told of stdout as it comes; the program waits while this does. */
  onOutput?(chunk: Uint8Array): Promise<void> | void;
  /** Of stderr, where the terminal is not its own. */
  onComplaint?(chunk: Uint8Array): void;
  /** Stops it and everything it started: asked first, then forced. */
  readonly signal?: AbortSignal;
  /** With `all`: it gets a process group of its own, which no key at the terminal reaches, and which ends when we are killed. */
  readonly ownGroup?: boolean;
  /** Signals that this process gets go on to the program. */
  readonly passSignals?: boolean;
}

export interface ProgramEnd {
  /** As a shell would say it: 128 and the number of the signal that ended it. */
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

/** Runs a program to its end. Rejects only where it could not be started. */
export async function runProgram(line: CommandLine, o: ProgramOptions): Promise<ProgramEnd> {
  const child = start(line, o);
  // Whoever waits hears of a failure below; until then nobody does.
  const ended = once(child, 'close');
  ended.catch(() => {});
  using _stopping = endWhenAborted(o.signal, (force) => {
    const signal = force ? 'SIGKILL' : 'SIGTERM';
    if (o.ownGroup) signalGroup(child, signal);
    else child.kill(signal);
  });
  using _passing = o.passSignals ? passSignals(child) : undefined;
  // A program that ends without reading what it was given is its own affair.
  child.stdin?.on('error', () => {});
  child.stdin?.end(line.input ?? '');
  child.stderr?.on('data', (chunk: Uint8Array) => o.onComplaint?.(chunk));
  try {
    for await (const chunk of child.stdout ?? []) await o.onOutput?.(chunk as Uint8Array);
  } catch {
    // A stream that broke says nothing of how the program ends.
  }
  try {
    const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    return { code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]), signal };
  } catch (error) {
    throw notStarted(line.command, error as NodeJS.ErrnoException);
  }
}

function start(line: CommandLine, o: ProgramOptions): ChildProcess {
  const { env, cwd } = o;
  const leashed = o.ownGroup === true && o.streams === 'all' && process.platform !== 'win32';
  if (!leashed) return spawn(line.command, [...line.args], { env, cwd, stdio: stdio(line, o) });
  const known = line.command.includes('/')
    ? isProgram(resolve(cwd, line.command))
    : findProgram(line.command, env);
  if (!known) throw notStarted(line.command, Object.assign(new Error(), { code: 'ENOENT' }));
  return leashedProgram(line.command, line.args, {
    env,
    cwd,
    stdin: line.input === undefined ? 'ignore' : 'pipe',
  });
}

function stdio(line: CommandLine, o: ProgramOptions): ('inherit' | 'pipe' | 'ignore')[] {
  if (o.streams === 'terminal') return ['inherit', 'inherit', 'inherit'];
  const input = line.input !== undefined ? 'pipe' : o.streams === 'all' ? 'ignore' : 'inherit';
  return [input, 'pipe', o.streams === 'all' || o.onComplaint ? 'pipe' : 'inherit'];
}

/** Signals that are for the program and not for us: it decides, and we end when it has. */
const PASSED: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
/** A terminal sends these to everything in the foreground, so the program has got them already. */
const FROM_KEYS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT']);

function passSignals(child: ChildProcess): Disposable {
  // Not by `process.stdin`: making it would change the very pipe that the program inherits.
  const atTerminal = isatty(0);
  const passOn = (signal: NodeJS.Signals) => {
    if (!(atTerminal && FROM_KEYS.has(signal))) child.kill(signal);
  };
  for (const signal of PASSED) process.on(signal, passOn);
  return {
    [Symbol.dispose]: () => {
      for (const signal of PASSED) process.off(signal, passOn);
    },
  };
}

function notStarted(command: string, error: NodeJS.ErrnoException): RelayError {
  if (error.code === 'ENOENT')
    return new RelayError('missing', {
      what: `program ${command}`,
      hint: 'Install it, or give its whole path.',
    });
  return new RelayError('failed', { what: `${command} cannot be started (${error.code ?? error.message}).` });
}
