import { streamFrom } from '../../base/byte-streams.ts';
import { bytes } from './human.ts';
import type { Io, Style } from './io.ts';
import { ESCAPE } from './io.ts';

/** Below this a transfer is over before a bar could be read. */
const WORTH_SHOWING_BYTES = 2 * 1024 * 1024;
const REDRAW_MS = 80;
/** To the beginning of the line, and nothing behind it. */
const CLEAR_LINE = `${ESCAPE}[G${ESCAPE}[K`;

/**
 * Passes a body through and shows on stderr how far it is, where someone is looking and it is a stream and large enough. The
 * bar is gone when the stream ends, fails or is cancelled.
 */
export function withProgress<B extends Uint8Array | ReadableStream<Uint8Array>>(
  io: Io,
  body: B,
  o: { label: string; size?: number },
): B | ReadableStream<Uint8Array> {
  const { label, size = Number.POSITIVE_INFINITY } = o;
  if (body instanceof Uint8Array || !io.stderr.isTTY || io.json || size < WORTH_SHOWING_BYTES) return body;
  const name = label.length > 24 ? `${label.slice(0, 23)}…` : label;
  return streamFrom(shown(io, body, name, o.size));
}

async function* shown(
  { stderr, errorStyle }: Io,
  body: ReadableStream<Uint8Array>,
  label: string,
  size?: number,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  let drawnAt = 0;
  try {
    for await (const chunk of body) {
      done += chunk.byteLength;
      const now = performance.now();
      if (done >= WORTH_SHOWING_BYTES / 4 && now - drawnAt >= REDRAW_MS) {
        drawnAt = now;
        const bar = size === undefined ? bytes(done) : barOf(done, size, stderr.columns, errorStyle);
        stderr.write(`${CLEAR_LINE}${label}  ${bar}`);
      }
      yield chunk;
    }
  } finally {
    if (drawnAt > 0) stderr.write(CLEAR_LINE);
  }
}

/** Shows on stderr how far something is that is no transfer, where someone is looking. Gives the way to move the bar. */
export function progressBar(
  { stderr, errorStyle, json }: Io,
  label: string,
  size: number,
  amount: (value: number) => string = bytes,
) {
  let done = 0;
  let drawnAt = 0;
  return {
    add(more: number): void {
      done += more;
      const now = performance.now();
      if (!stderr.isTTY || json || now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      stderr.write(`${CLEAR_LINE}${label}  ${barOf(done, size, stderr.columns, errorStyle, amount)}`);
    },
    [Symbol.dispose](): void {
      if (drawnAt > 0) stderr.write(CLEAR_LINE);
    },
  };
}

function barOf(
  done: number,
  size: number,
  columns: number,
  style: Style,
  amount: (value: number) => string = bytes,
): string {
  const share = Math.min(1, done / size);
  const cells = Math.max(10, Math.min(30, columns - 50));
  const full = Math.round(share * cells);
  const percent = `${Math.floor(share * 100)}`.padStart(3);
  return `${'█'.repeat(full)}${style.dim('░'.repeat(cells - full))} ${percent} %  ${amount(Math.min(done, size))} of ${amount(size)}`;
}
