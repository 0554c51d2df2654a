import type { Readable, Writable } from 'node:stream';
import { asTyped } from './as-typed.ts';

/**
 * Marks escape characters in our own output. It contains a random number, so that texts from others cannot contain
 * it. On output it becomes the real escape character. At a terminal, any other escape character is made visible.
 */
export const ESCAPE = `\u001b${Math.random().toString(36).slice(2)};`;

/** Replaces control characters by visible codes, so that a text from others cannot control the terminal. */
export function escapeControls(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}

export type Style = ReturnType<typeof makeStyle>;

/** Returns functions that color text for a terminal. If `on` is false, they return the text unchanged. */
export function makeStyle(on: boolean) {
  const paint = (open: number, close: number) => (text: string) =>
    on ? `${ESCAPE}[${open}m${text}${ESCAPE}[${close}m` : text;
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  };
}

/** Standard output or standard error: a terminal, a pipe or a file. */
export interface Output {
  readonly isTTY: boolean;
  /** Width in characters. 80 if the width is unknown. */
  readonly columns: number;
  /** Writes synchronously. Ignores EPIPE, which means that the receiving program has closed the pipe. */
  write(data: string | Uint8Array): void;
  /**
   * Writes with backpressure, for large payloads. Rejects with EPIPE if the receiving program has closed the
   * pipe.
   */
  send(data: Uint8Array): Promise<void>;
  /** Node stream of this output. It is created on first use, because creating it takes milliseconds. */
  readonly stream: Writable;
  /** The same output without the escape-code filter, for --force. */
  readonly raw?: Output;
}

export interface Input {
  readonly isTTY: boolean;
  /** Node stream of this input. It is created on first use. */
  readonly stream: Readable;
  /**
   * Reads the next bytes without creating a stream. Returns null at the end of the input. A pending read
   * keeps the process alive.
   */
  take(): Promise<Uint8Array | null>;
}

export interface Terminal {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  /**
   * Returns the command that starts this program in this folder, or in any folder of this machine. Default:
   * `relay`.
   */
  program?(where: 'here' | 'anywhere'): string;
}

/** Input and output of a command. Results go to stdout, everything else to stderr. */
export interface Io extends Required<Terminal> {
  /** True with --json or --output json. */
  readonly json: boolean;
  /** True if stdout is a terminal. */
  readonly interactive: boolean;
  /** Colors for stdout. */
  readonly style: Style;
  /** Colors for stderr. */
  readonly errorStyle: Style;
  readonly width: number;
  /**
   * Prints the result: JSON with --json, otherwise the text. If `text` is a function, it is called only if
   * the text is printed.
   */
  result(json: unknown, text: string | (() => string)): undefined;
  /** Replaces `relay` in our own texts by the command that the user has to type here. See `asTyped`. */
  typed(text: string): string;
  print(line?: string): void;
  /** Prints a note for people on stderr. */
  note(line: string): void;
  warn(line: string): void;
  /**
   * Asks the user a question at the terminal and returns the answer. Returns null if there is no terminal.
   */
  ask(question: string): Promise<string | null>;
}

/** Creates the `Io` of a command from the terminal and the global flags. */
export function makeIo(
  terminal: Terminal,
  o: { json: boolean; noColor: boolean; commands: readonly string[] },
): Io {
  const { stdin, env } = terminal;
  const [stdout, stderr] = [guarded(terminal.stdout), guarded(terminal.stderr)];
  const program = terminal.program ?? (() => 'relay');
  const typed = (text: string) =>
    text.includes('relay ') ? asTyped(text, program('here'), o.commands) : text;
  // Check isTTY only when needed: the check is slow compared with a short command.
  const styleOf = (output: Output) => {
    if (o.noColor || env.NO_COLOR) return makeStyle(false);
    const forced = env.FORCE_COLOR && env.FORCE_COLOR !== '0';
    return makeStyle(forced || (output.isTTY && env.TERM !== 'dumb'));
  };
  return {
    ...terminal,
    stdout,
    stderr,
    program,
    json: o.json,
    get interactive() {
      return stdout.isTTY;
    },
    get style() {
      return styleOf(stdout);
    },
    get errorStyle() {
      return styleOf(stderr);
    },
    get width() {
      return Math.max(40, Math.min(stdout.columns, 120));
    },
    result(json, text) {
      if (o.json) stdout.write(`${JSON.stringify(json, null, stdout.isTTY ? 2 : undefined)}\n`);
      else {
        const output = typeof text === 'function' ? text() : text;
        if (output !== '') stdout.write(output.endsWith('\n') ? output : `${output}\n`);
      }
    },
    typed,
    print: (line = '') => stdout.write(`${line}\n`),
    note: (line) => stderr.write(`${styleOf(stderr).dim(typed(line))}\n`),
    warn: (line) => stderr.write(`${styleOf(stderr).yellow('warning')} ${typed(line)}\n`),
    ask: (question) => (stdin.isTTY && stderr.isTTY ? askAt(terminal, question) : Promise.resolve(null)),
  };
}

/**
 * Wraps an output so that a terminal never gets escape codes from a model, a program or a payload. A pipe or
 * a file gets the bytes unchanged.
 */
function guarded(output: Output): Output {
  // Keep the decoder's state between chunks, because a character may be split across two chunks.
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const filterText = (text: string) =>
    text
      .split(ESCAPE)
      .map((part) => (output.isTTY ? escapeControls(part) : part))
      .join('\u001b');
  const filterBytes = (data: Uint8Array) => escapeControls(decoder.decode(data, { stream: true }));
  return {
    get isTTY() {
      return output.isTTY;
    },
    get columns() {
      return output.columns;
    },
    get stream() {
      return output.stream;
    },
    raw: output,
    write(data) {
      if (typeof data === 'string') output.write(filterText(data));
      else output.write(output.isTTY ? filterBytes(data) : data);
    },
    send: (data) => output.send(output.isTTY ? encoder.encode(filterBytes(data)) : data),
  };
}

async function askAt({ stdin, stderr }: Terminal, question: string): Promise<string | null> {
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: stdin.stream, output: stderr.stream });
  return new Promise((resolve) => {
    lines.once('close', () => resolve(null));
    lines.question(escapeControls(question), (answer) => {
      resolve(answer.trim());
      lines.close();
    });
  });
}

/** Reads standard input as text until its end, or until `enough` returns true. */
export async function pipedText({ stdin }: Io, enough: (text: string) => boolean): Promise<string> {
  let text = '';
  for await (const chunk of stdin.stream.setEncoding('utf8')) {
    text += chunk;
    if (enough(text)) break;
  }
  return text;
}

/** Exit code after Ctrl-C. Shells use the same code (128 + SIGINT). */
export const INTERRUPTED = 130;

/** Returns a signal that aborts on Ctrl-C or SIGTERM, after calling `onStop`. A second Ctrl-C exits immediately. */
export function interruption(onStop?: () => void): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const stop = () => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    onStop?.();
    controller.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', stop).off('SIGTERM', stop),
  };
}
