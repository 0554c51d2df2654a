import { isUtf8 } from 'node:buffer';
import { type ChildProcess, type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants as files, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { RelayError } from '../base/errors.ts';
import { findProgram, isProgram } from './find-program.ts';

/** A program to start. Without `args`, the shell runs the command. */
export interface CommandLine {
  readonly command: string;
  readonly args?: readonly string[];
  /** Text that the program gets on stdin. */
  readonly input?: string;
}

interface ProgramOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Called with stdout as it arrives. No more is read from the program until the returned promise resolves. */
  onOutput?(chunk: Uint8Array): Promise<void> | void;
  /** Called with stderr as it arrives. */
  onComplaint?(chunk: Uint8Array): void;
}

interface ProgramEnd {
  /** Exit code, as a shell reports it: if a signal ended the program, 128 plus the number of the signal. */
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs a program in the foreground, as if the user had started it. The program gets the signals and the
 * streams of this process, except streams that this process reads or writes itself. With `terminal`, the
 * program gets all three streams. Rejects only if the program could not be started.
 */
export async function runInForeground(
  line: CommandLine,
  o: ProgramOptions & { readonly terminal: boolean },
): Promise<ProgramEnd> {
  const piped = [line.input === undefined ? 'inherit' : 'pipe', 'pipe', o.onComplaint ? 'pipe' : 'inherit'];
  const stdio = o.terminal ? 'inherit' : (piped as ('inherit' | 'pipe')[]);
  const child = spawn(line.command, line.args ?? [], { env: o.env, cwd: o.cwd, stdio });
  using _ = passSignals(child);
  return await untilEnd(child, line, o);
}

/**
 * Starts a program with pipes for standard input and output. The program inherits standard error, and our signals are
 * passed on to it. `end` rejects if the program could not be started.
 */
export function startPiped(
  line: Required<Omit<CommandLine, 'input'>>,
  env: NodeJS.ProcessEnv,
): { readonly input: Writable; readonly output: Readable; readonly end: Promise<ProgramEnd> } {
  // Windows runs scripts such as npx.cmd only with a shell.
  const shell = process.platform === 'win32';
  const child = spawn(line.command, line.args, { env, shell, stdio: ['pipe', 'pipe', 'inherit'] });
  const signals = passSignals(child);
  const end = endOf(child, line);
  // Ignore write errors. They mean that the program has ended, which `end` reports.
  child.stdin.on('error', () => {});
  return { input: child.stdin, output: child.stdout, end: end.finally(() => signals[Symbol.dispose]()) };
}

/**
 * Background processes may keep the pipe of a program open after the program has ended. If then nothing arrives
 * for this many ms, reading stops.
 */
const BACKGROUND_MS = 1_000;

/**
 * Runs a program in the foreground and reads stdout and stderr through one pipe, so that their order is kept.
 * `env` receives the read end of the pipe, or null if there is no shared pipe. `isOpen` is true if background
 * processes of the program may still write.
 */
export async function runCaptured(
  line: CommandLine & Required<Pick<CommandLine, 'args'>>,
  o: { env(readEnd: number | null): NodeJS.ProcessEnv; onOutput(chunk: Uint8Array): Promise<void> },
): Promise<ProgramEnd & { readonly isOpen: boolean }> {
  const pipe = openSharedPipe();
  const [readEnd, output] = pipe ?? [null, 'pipe' as const];
  const child = spawn(line.command, line.args, { env: o.env(readEnd), stdio: ['inherit', output, output] });
  using _ = passSignals(child);
  const ended = endOf(child, line, pipe ? 'exit' : 'close');
  let isOpen = false;
  if (pipe) {
    // Close our copy of the write end. The program has its own copies, and reading ends when all copies are
    // closed.
    closeSync(pipe[1]);
    isOpen = await drain(pipe[0], ended, o.onOutput);
    closeSync(pipe[0]);
  } else
    await Promise.all(
      [child.stdout!, child.stderr!].map(async (stream) => {
        for await (const chunk of stream) await o.onOutput(chunk);
      }),
    );
  return { ...(await ended), isOpen };
}

/**
 * Runs a supervised program to its end. `signal` stops it and all processes that it started: first with SIGTERM, then
 * with SIGKILL.
 */
export async function runSupervised(
  line: CommandLine,
  o: ProgramOptions & { readonly signal: AbortSignal; readonly graceful?: boolean },
): Promise<ProgramEnd> {
  const child = startSupervised(line, o);
  using _ = endWhenAborted(o.signal, (force) => signalGroup(child, force ? 'SIGKILL' : 'SIGTERM'));
  return await untilEnd(child, line, o);
}

async function untilEnd(child: ChildProcess, line: CommandLine, o: ProgramOptions): Promise<ProgramEnd> {
  const ended = endOf(child, line);
  // Ignore write errors, because a program may end without reading its input.
  child.stdin?.on('error', () => {});
  child.stdin?.end(line.input ?? '');
  child.stderr?.on('data', (chunk: Uint8Array) => o.onComplaint?.(chunk));
  try {
    for await (const chunk of child.stdout ?? []) await o.onOutput?.(chunk as Uint8Array);
  } catch {
    // Ignore the error of a broken stream. The exit code says how the program ended.
  }
  return await ended;
}

type ExitArguments = [code: number | null, signal: NodeJS.Signals | null];

/**
 * Resolves when the program has ended. Rejects if it could not be started. A caller may await the promise later,
 * because its rejection is already handled here.
 */
function endOf(child: ChildProcess, line: CommandLine, event: 'exit' | 'close' = 'close') {
  const ended = (once(child, event) as Promise<ExitArguments>).then(
    ([code, signal]): ProgramEnd => ({
      code: code ?? 128 + (signal === null ? 0 : constants.signals[signal]),
      signal,
    }),
    (error) => {
      throw notStarted(line, error);
    },
  );
  ended.catch(() => {});
  return ended;
}

/**
 * Opens a named pipe that stdout and stderr of one program share. The pipes of `spawn` cannot be used: they
 * are separate sockets, so the order of the output is lost, and a program cannot open /dev/stderr on a
 * socket. Returns null on systems without named pipes.
 */
function openSharedPipe(): [readEnd: number, writeEnd: number] | null {
  if (process.platform === 'win32') return null;
  const folder = mkdtempSync(join(tmpdir(), 'relay-tee-'));
  try {
    const path = join(folder, 'output');
    if (spawnSync('mkfifo', ['-m', '600', path]).status !== 0) return null;
    // With O_NONBLOCK, opening the read end does not wait for a writer, and no pending read keeps this
    // process from exiting.
    return [openSync(path, files.O_RDONLY | files.O_NONBLOCK), openSync(path, files.O_WRONLY)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Maximum pause in ms between two reads of an empty pipe. */
const POLL_MS = 32;
const CHUNK_BYTES = 64 * 1024;

/**
 * Reads a pipe to its end and returns false. If the program has ended but background processes keep the pipe
 * open, returns true after some time without output.
 */
async function drain(fd: number, ended: Promise<unknown>, onOutput: (chunk: Uint8Array) => Promise<void>) {
  let quietSince = Number.POSITIVE_INFINITY;
  const restart = () => {
    quietSince = performance.now();
  };
  // If the program could not be started, the caller reports it. So handle the rejection here like an end.
  const end = ended.then(restart, restart);
  const buffer = new Uint8Array(CHUNK_BYTES);
  for (let wait = 1; ; ) {
    const bytes = readAvailable(fd, buffer);
    if (bytes === 0) return false;
    if (bytes !== null) {
      await onOutput(buffer.slice(0, bytes));
      // Let timers and signal handlers run between two reads.
      await nextTurn();
      wait = 1;
      if (hasEnded()) restart();
    } else if (performance.now() - quietSince > BACKGROUND_MS) return true;
    else {
      await (hasEnded() ? sleep(wait) : Promise.race([sleep(wait), end]));
      wait = Math.min(2 * wait, POLL_MS);
    }
  }

  function hasEnded(): boolean {
    return quietSince !== Number.POSITIVE_INFINITY;
  }
}

/** Returns the number of bytes that were read from a pipe: 0 at its end, and null if it is empty. */
function readAvailable(fd: number, buffer: Uint8Array): number | null {
  try {
    return readSync(fd, buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return null;
    throw error;
  }
}

/** Time in ms between SIGTERM and SIGKILL. */
const GRACE_MS = 5_000;

/**
 * Shell code that starts a watcher in the process group of the command. The watcher reads a pipe from this
 * process. A line in the pipe means that the command has ended. If the pipe ends without a line, this process
 * has ended, perhaps by SIGKILL, and the watcher ends the group. The watcher sends the signal to group 0,
 * which is its own group, so it can never hit another process that got the same pid. The watcher is not a
 * child of the command, because the command may wait for all its children.
 */
const watch = (endGroup: string) => `( { trap '' TERM INT HUP
read -r done || { ${endGroup}; }
} <&3 3<&- >/dev/null 2>&1 & )
exec 3<&-
exec "$@"`;

const GRACEFULLY = watch(`kill -TERM 0; sleep ${GRACE_MS / 1000}; kill -KILL 0`);
const AT_ONCE = watch('kill -KILL 0');

/**
 * Starts a program in its own process group, so that Ctrl-C in the terminal does not reach it. If this
 * process is killed, the whole group is killed too. Otherwise a restarted process could run the program a
 * second time in parallel. The group is killed at once. With `graceful`, it gets a SIGTERM
 * first. Windows has no process groups, so there the program keeps running.
 */
export function startSupervised(
  line: CommandLine,
  { cwd, env, graceful }: Pick<ProgramOptions, 'cwd' | 'env'> & { readonly graceful?: boolean },
): ChildProcessByStdio<Writable, Readable, Readable> {
  const { command, args } = line;
  const piped = ['pipe', 'pipe', 'pipe'] as ['pipe', 'pipe', 'pipe'];
  if (process.platform === 'win32')
    return spawn(command, args ?? [], { shell: args === undefined, cwd, env, stdio: piped });
  // The program is started by a shell, which would not report that it is missing. So look for it first.
  const missing = command.includes('/')
    ? !isProgram(resolve(cwd ?? '', command))
    : !findProgram(command, env);
  if (args && missing) throw notStarted(line, Object.assign(new Error(), { code: 'ENOENT' }));
  const argv = args ? [command, ...args] : ['/bin/sh', '-c', command];
  const child = spawn('/bin/sh', ['-c', graceful ? GRACEFULLY : AT_ONCE, 'sh', ...argv], {
    cwd,
    env,
    detached: true,
    stdio: [...piped, 'pipe'],
  }) as ChildProcessByStdio<Writable, Readable, Readable>;
  const watched = child.stdio[3] as unknown as Writable & Readable;
  // The watcher may end before this process. So ignore errors of writing to it.
  watched.on('error', () => {});
  watched.resume();
  // Tell the watcher that the command has ended only after three events: the program exits, its stdout
  // closes, and its stderr closes. Until then, background processes of the program may still write.
  let open = 3;
  const ended = () => {
    if (--open === 0) watched.end('done\n');
  };
  child.once('exit', ended);
  for (const stream of [child.stdout, child.stderr]) stream.once('close', ended);
  return child;
}

/** Sends a signal to a command and all processes that it started. */
export function signalGroup({ pid }: Pick<ChildProcess, 'pid'>, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // Ignore the error: the command has already ended.
  }
}

/**
 * Calls `end` when the signal aborts, and a second time with `force` after `GRACE_MS`. Dispose the result
 * when the process has ended.
 */
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

/** Describes how a process ended, and adds the last line of its stderr. */
export function whyEnded(who: string, code: number | null, signal: string | null, stderr: string): string {
  const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
  const lastLine = stderr.trim().split('\n').at(-1)!.trim();
  return `The ${who} ${how}${lastLine === '' ? '.' : `: ${lastLine}`}`;
}

/**
 * Signals that are passed on to the program. The program decides what to do, and this process ends after it.
 */
const PASSED: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
/**
 * Signals that a terminal sends to all processes in the foreground, so the program gets them without our
 * help.
 */
const FROM_KEYS: ReadonlySet<NodeJS.Signals> = new Set(['SIGINT', 'SIGQUIT']);

function passSignals(child: ChildProcess): Disposable {
  // Do not use `process.stdin`: creating it would change the pipe that the program inherits.
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

function notStarted({ command, args }: CommandLine, error: NodeJS.ErrnoException): RelayError {
  if (args && error.code === 'ENOENT') {
    const hint = 'Install it, or pass its full path.';
    return new RelayError('missing', { what: `program ${command}`, hint });
  }
  return new RelayError('failed', { what: `${command} cannot be started (${error.code ?? error.message}).` });
}

/** Keeps the last bytes of a stream. */
export class Tail {
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #cut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.byteLength;
    while (this.#size - this.#chunks[0]!.byteLength >= this.#limit) {
      this.#size -= this.#chunks.shift()!.byteLength;
      this.#cut = true;
    }
  }

  /**
   * Returns all bytes if the stream is binary, that is, not UTF-8. Returns null if it is text, or if bytes
   * were dropped.
   */
  binary(): Uint8Array | null {
    const whole = Buffer.concat(this.#chunks);
    return this.#cut || isUtf8(whole) ? null : whole;
  }

  /** Returns the text, with a note if its beginning was dropped. */
  text(): string {
    const text = Buffer.concat(this.#chunks).toString('utf8');
    return this.#cut ? `[… only the end of a long output]\n${text}` : text;
  }
}

/** Returns a temporary file for a prompt, which is deleted when it is disposed. */
export function promptFile(): AsyncDisposable & { write(text: string): Promise<string> } {
  let folder: string | null = null;
  return {
    async write(text) {
      folder ??= await mkdtemp(join(tmpdir(), 'relay-prompt-'));
      const path = join(folder, 'prompt-1.md');
      await writeFile(path, text, { mode: 0o600 });
      return path;
    },
    async [Symbol.asyncDispose]() {
      if (folder !== null) await rm(folder, { recursive: true, force: true });
    },
  };
}
