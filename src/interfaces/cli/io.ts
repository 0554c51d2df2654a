import type { Readable, Writable } from 'node:stream';
import { asTyped } from './as-typed.ts';

/**
 * Stands for the escape character in what this program itself says to a terminal, until it is written. Whoever wrote the
 * texts that are shown beside it cannot guess the number, so whatever else looks like an escape code is somebody else's.
 */
export const ESCAPE = `\u001b${Math.random().toString(36).slice(2)};`;

/** A text of anybody's as a terminal may get it: control characters are shown, not obeyed. */
export function shown(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(
      /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
}

export type Style = ReturnType<typeof makeStyle>;

/** Colours and weights for a terminal; texts stay as they are where it is not `on`. */
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

/** One end of the terminal, or of the pipe or file that stands in for it. */
export interface Output {
  readonly isTTY: boolean;
  /** 80 where nobody knows. */
  readonly columns: number;
  /** Takes it at once. A reader that went away is no error: nobody is left to tell. */
  write(data: string | Uint8Array): void;
  /** For long bodies: waits for a slow reader, and rejects with EPIPE once it went away. */
  send(data: Uint8Array): Promise<void>;
  /** Made when first asked for: a Node stream costs milliseconds that a short answer does not need. */
  readonly stream: Writable;
  /** The same without the guard: what is written there reaches a terminal as it is, escape codes included. */
  readonly raw?: Output;
}

export interface Input {
  readonly isTTY: boolean;
  /** Made when first asked for. */
  readonly stream: Readable;
  /** The next bytes, without the cost of a stream; null at the end. What waits in vain keeps the program from ending. */
  take(): Promise<Uint8Array | null>;
}

export interface Terminal {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  /** How this program is called, typed in this folder or anywhere on this machine; `relay` where nobody says. */
  program?(where: 'here' | 'anywhere'): string;
}

/** What a command talks to: results on stdout, everything else on stderr. */
export interface Io extends Required<Terminal> {
  /** Asked for with --json or --output json. */
  readonly json: boolean;
  /** Someone is looking at stdout. */
  readonly interactive: boolean;
  /** Colours for stdout. */
  readonly style: Style;
  /** Colours for stderr. */
  readonly errorStyle: Style;
  readonly width: number;
  /** The result: JSON with --json, otherwise the text. A function is called only when it is needed. */
  result(json: unknown, text: string | (() => string)): undefined;
  /** Our own words, with every command as it has to be typed in this folder. */
  typed(text: string): string;
  print(line?: string): void;
  /** For people, on stderr; nothing that a program would want. */
  note(line: string): void;
  warn(line: string): void;
  /** Asks the person at the terminal; null when there is nobody to ask. */
  ask(question: string): Promise<string | null>;
}

export function makeIo(
  terminal: Terminal,
  o: { json: boolean; noColor: boolean; commands: readonly string[] },
): Io {
  const { stdin, env } = terminal;
  const [stdout, stderr] = [guarded(terminal.stdout), guarded(terminal.stderr)];
  const program = terminal.program ?? (() => 'relay');
  const typed = (text: string) =>
    text.includes('relay ') ? asTyped(text, program('here'), o.commands) : text;
  // Whether something is a terminal is looked up when it matters: asking costs a short command dearly.
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
        const words = typeof text === 'function' ? text() : text;
        if (words !== '') stdout.write(words.endsWith('\n') ? words : `${words}\n`);
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
 * An output through which everything passes that this program writes, so that no escape code of a model, a program or a
 * payload reaches a terminal. Where it is no terminal bytes stay as they are.
 */
function guarded(output: Output): Output {
  // A chunk may end within a character.
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const words = (text: string) =>
    text
      .split(ESCAPE)
      .map(output.isTTY ? shown : asItIs)
      .join('\u001b');
  const bytes = (data: Uint8Array) => shown(decoder.decode(data, { stream: true }));
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
      if (typeof data === 'string') output.write(words(data));
      else output.write(output.isTTY ? bytes(data) : data);
    },
    send: (data) => output.send(output.isTTY ? encoder.encode(bytes(data)) : data),
  };
}

const asItIs = (text: string): string => text;

async function askAt({ stdin, stderr }: Terminal, question: string): Promise<string | null> {
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: stdin.stream, output: stderr.stream });
  return new Promise((resolve) => {
    lines.once('close', () => resolve(null));
    lines.question(shown(question), (answer) => {
      resolve(answer.trim());
      lines.close();
    });
  });
}

/** What is piped in, as text, until there is `enough` of it. */
export async function pipedText({ stdin }: Io, enough: (text: string) => boolean): Promise<string> {
  let text = '';
  for await (const chunk of stdin.stream.setEncoding('utf8')) {
    text += chunk;
    if (enough(text)) break;
  }
  return text;
}

/** The exit code of what a signal ended, as shells give it for Ctrl-C. */
export const INTERRUPTED = 130;

/** Fires with Ctrl-C or SIGTERM, and calls `onStop` then. The second time ends the program at once. */
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
