import { basename } from 'node:path';
import { OUTPUT_BYTES } from '../../base/limits.ts';
import { redact } from '../../base/redact.ts';
import type { TeeOptions } from '../../interfaces/cli/host.ts';
import type { Io } from '../../interfaces/cli/io.ts';
import { runCaptured, runInForeground } from '../../runners/processes.ts';
import type { Excerpt } from '../../text/excerpt/excerpt.ts';
import { PULLS } from '../../text/excerpt/last-line.ts';
import { ownTextWork } from '../store/own-text-work.ts';
import { Capture } from './capture.ts';
import type { OutputStore } from './output-store.ts';
import { pipeId, type Spool, takePulledNote } from './spool.ts';

interface TeeParts {
  readonly home: string;
  /** True if the output goes to another machine. */
  readonly isRemote: boolean;
  open(): Promise<OutputStore>;
}

/** Time in ms for a command to end after a signal. Some clients kill everything 200 ms after SIGTERM. */
const SIGNAL_MS = 100;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs a command, or reads standard input, and prints its output or an excerpt. Returns the exit code. */
export async function tee(io: Io, o: TeeOptions, { home, isRemote, open }: TeeParts): Promise<number> {
  const { command, budget } = o;
  const { stdin, env, interactive: live } = io;
  const stdout = io.stdout.raw ?? io.stdout;
  const [program, ...args] = command;
  // True if another `relay tee` reads our standard output. The other `relay tee` then makes the excerpt.
  const isNested = env.RELAY_TEE !== undefined && env.RELAY_TEE === pipeId(1);
  if (isNested && program !== undefined)
    return (await runInForeground({ command: program, args }, { env, terminal: true })).code;

  let pipe = pipeId(0);
  let exit = o.exit ?? null;
  let store: OutputStore | undefined;
  const capture = new Capture({
    home,
    command: program === undefined ? nameOf(o.name) : commandName(program, args[0]),
    budget: isNested ? Number.POSITIVE_INFINITY : budget,
    maxBytes: OUTPUT_BYTES,
    live,
    // Ignore errors, so that the command continues when its terminal is closed.
    print: (data) => (live ? stdout.send(data).catch(() => {}) : stdout.write(data)),
    printLast: (text) => (live ? io.stderr : stdout).write(text),
    isPulled: () => takePulledNote(home, pipe) || PULLS.test(o.name ?? ''),
    async save(spool, excerpt, cut) {
      store = await open();
      return save(store, spool, excerpt, { ...o, exit, cut, live });
    },
    warn: (what) => io.warn(what),
  });
  let isOver = false;
  let received: NodeJS.Signals | null = null;
  const stopped = Promise.withResolvers<NodeJS.Signals>();
  const onSignal = (signal: NodeJS.Signals) => {
    stopped.resolve(signal);
    capture.flush();
    if (!live) setTimeout(() => isOver || capture.end({ hurry: true }), SIGNAL_MS).unref();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    if (program === undefined) {
      received = await readInput();
      return 0;
    }
    const end = await runCaptured(
      { command: program, args },
      {
        env: (readEnd) => {
          pipe = readEnd === null ? null : pipeId(readEnd);
          // Delete the note of an earlier pipe with the same inode number, otherwise this output would count
          // as pulled text.
          takePulledNote(home, pipe);
          return { ...env, RELAY_TEE: pipe ?? '' };
        },
        onOutput: (chunk) => capture.write(chunk),
      },
    );
    exit = end.code;
    if (end.isOpen)
      io.note('A background process of the command is still running. Its output is no longer read.');
    return end.code;
  } finally {
    isOver = true;
    await capture.end();
    for (const signal of SIGNALS) process.off(signal, onSignal);
    await cleanUp();
    // The runtime still reads standard input in a thread, which would keep this process alive. So end the process
    // with the signal that it received.
    if (received !== null) process.kill(process.pid, received);
  }

  /** Captures standard input until it ends or a signal arrives. Returns the signal, or null at the end of the input. */
  async function readInput(): Promise<NodeJS.Signals | null> {
    for (;;) {
      const chunk = await Promise.race([stdin.take(), stopped.promise]);
      if (chunk === null || typeof chunk === 'string') return chunk;
      await capture.write(chunk);
    }
  }

  async function cleanUp(): Promise<void> {
    await using opened = store;
    if (!opened || isRemote) return;
    try {
      await opened.recover();
      await opened.keepWithin();
    } catch (error) {
      io.warn(`Old outputs could not be cleaned up: ${(error as Error).message}`);
    }
  }
}

/**
 * Returns a text unchanged if it fits the budget. Otherwise stores it and returns an excerpt. Throws if
 * storing fails.
 */
export async function excerptOf(
  text: Uint8Array,
  o: Omit<TeeOptions, 'command'>,
  { home, open }: Omit<TeeParts, 'isRemote'>,
): Promise<string> {
  const printed: Uint8Array[] = [];
  const capture = new Capture({
    home,
    command: nameOf(o.name),
    budget: o.budget,
    maxBytes: OUTPUT_BYTES,
    live: false,
    print: (data) => void printed.push(data),
    printLast: (last) => void printed.push(Buffer.from(last)),
    isPulled: () => false,
    async save(spool, excerpt, cut) {
      await using store = await open();
      const line = await save(store, spool, excerpt, { exit: null, ...o, cut });
      await store.keepWithin();
      return line;
    },
    warn: (what) => {
      throw new Error(what);
    },
  });
  await capture.write(text);
  await capture.end();
  return Buffer.concat(printed).toString();
}

/** Stores an output and returns the last line of its excerpt. */
async function save(
  store: OutputStore,
  spool: Spool,
  { lines, tokens, shownTokens, omitted }: Excerpt,
  o: Pick<TeeOptions, 'lastLine'> & { exit: number | null; cut?: number; live?: boolean },
): Promise<string> {
  const { command } = spool.header;
  const cut = o.cut === undefined ? {} : { cut: o.cut };
  const about = { command, exit: o.exit, lines, tokens, bytes: spool.size, ...cut };
  const lastLine = (handle: string) => o.lastLine(handle, about, omitted[0]);
  const shownWithFooter = shownTokens + (await ownTextWork.count(lastLine('relay:10000'))).tokens;
  const pushed = await store.save(spool, { ...about, shown: o.live ? tokens : shownWithFooter });
  return lastLine(pushed.handle ?? pushed.id);
}

/** Returns the program of a shell line and its first argument. Omits a leading `cd … &&` and variables. */
function nameOf(line = 'standard input'): string {
  const [program = '', first] = line
    .trim()
    .replace(/^(?:cd [^;&|]*&&\s*|\w+=\S*\s+)*/, '')
    .split(/\s+/);
  return commandName(program, first);
}

/** Returns the program and its first argument. Anything further, and values of options, may be secrets. */
function commandName(program: string, first = ''): string {
  const argument = /^-\w|^--[\w-]+|^(?!-).*/s.exec(first)?.[0] ?? '';
  return redact(`${basename(program)} ${argument}`.trim()).slice(0, COMMAND_CHARS);
}

const COMMAND_CHARS = 100;
