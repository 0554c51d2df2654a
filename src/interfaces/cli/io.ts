import type { Readable, Writable } from 'node:stream';
import { makeStyle, type Style } from './style.ts';

/** The terminal, or what stands in for it in a test. */
export interface Terminal {
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number };
  readonly stderr: Writable & { isTTY?: boolean; columns?: number };
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
}

/** What a command talks to: results on stdout, everything else on stderr. */
export interface Io extends Terminal {
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
  result(json: unknown, text: string | (() => string)): void;
  print(line?: string): void;
  /** For people, on stderr; nothing that a program would want. */
  note(line: string): void;
  warn(line: string): void;
}

export function makeIo(terminal: Terminal, o: { json: boolean; noColor: boolean }): Io {
  const { stdout, stderr, env } = terminal;
  const colors = (stream: { isTTY?: boolean }) => {
    if (o.noColor || env.NO_COLOR) return false;
    if (env.FORCE_COLOR && env.FORCE_COLOR !== '0') return true;
    return stream.isTTY === true && env.TERM !== 'dumb';
  };
  const style = makeStyle(colors(stdout));
  const errorStyle = makeStyle(colors(stderr));
  return {
    ...terminal,
    json: o.json,
    interactive: stdout.isTTY === true,
    style,
    errorStyle,
    width: Math.max(40, Math.min(stdout.columns ?? 80, 120)),
    result(json, text) {
      if (o.json) stdout.write(`${JSON.stringify(json, null, stdout.isTTY ? 2 : undefined)}\n`);
      else {
        const words = typeof text === 'function' ? text() : text;
        if (words !== '') stdout.write(words.endsWith('\n') ? words : `${words}\n`);
      }
    },
    print: (line = '') => void stdout.write(`${line}\n`),
    note: (line) => void stderr.write(`${errorStyle.dim(line)}\n`),
    warn: (line) => void stderr.write(`${errorStyle.yellow('warning')} ${line}\n`),
  };
}
