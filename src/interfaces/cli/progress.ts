import { streamFrom } from '../../base/byte-streams.ts';
import { bytes } from './human.ts';
import type { Io, Style } from './io.ts';
import { ESCAPE } from './io.ts';

/**
 * Minimum size in bytes of a transfer with a progress bar. Smaller transfers end before anyone could read the
 * bar.
 */
const WORTH_SHOWING_BYTES = 2 * 1024 * 1024;
const REDRAW_MS = 80;
/** Escape sequence that moves the cursor to the start of the line and clears the line. */
const CLEAR_LINE = `${ESCAPE}[G${ESCAPE}[K`;

/**
 * Returns the body unchanged. For a large stream, stderr shows a progress bar at a terminal until the stream
 * ends, fails or is cancelled.
 */
export function withProgress<B extends Uint8Array | ReadableStream<Uint8Array>>(
  io: Io,
  body: B,
  { label, size }: { label: string; size?: number },
): B | ReadableStream<Uint8Array> {
  if (body instanceof Uint8Array || !isWatched(io) || (size ?? WORTH_SHOWING_BYTES) < WORTH_SHOWING_BYTES)
    return body;
  const name = label.length > 24 ? `${label.slice(0, 23)}…` : label;
  return streamFrom(counted(body, progressBar(io, name, size, { from: WORTH_SHOWING_BYTES / 4 })));
}

async function* counted(
  body: ReadableStream<Uint8Array>,
  bar: ReturnType<typeof progressBar>,
): AsyncGenerator<Uint8Array> {
  using _ = bar;
  for await (const chunk of body) {
    bar.add(chunk.byteLength);
    yield chunk;
  }
}

/**
 * Creates a progress bar on stderr, visible only at a terminal. Without `size`, it shows only the amount so
 * far.
 */
export function progressBar(
  io: Io,
  label: string,
  size: number | undefined,
  { from = 0, amount = bytes }: { from?: number; amount?: (value: number) => string } = {},
) {
  const { stderr, errorStyle } = io;
  let done = 0;
  let drawnAt = -REDRAW_MS;
  return {
    add(more: number): void {
      done += more;
      const now = performance.now();
      if (!isWatched(io) || done < from || now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      const bar = size === undefined ? '' : `${barOf(done / size, stderr.columns, errorStyle)}  `;
      const of = size === undefined ? '' : ` of ${amount(size)}`;
      stderr.write(`${CLEAR_LINE}${label}  ${bar}${amount(Math.min(done, size ?? done))}${of}`);
    },
    [Symbol.dispose](): void {
      if (drawnAt > 0) stderr.write(CLEAR_LINE);
    },
  };
}

const isWatched = ({ stderr, json }: Io): boolean => stderr.isTTY && !json;

function barOf(done: number, columns: number, style: Style): string {
  const share = Math.min(1, done);
  const cells = Math.max(10, Math.min(30, columns - 50));
  const full = Math.round(share * cells);
  const percent = `${Math.floor(share * 100)}`.padStart(3);
  return `${'█'.repeat(full)}${style.dim('░'.repeat(cells - full))} ${percent} %`;
}
