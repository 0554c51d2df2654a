import { bytes } from './human.ts';
import type { Io } from './io.ts';

/** Below this a transfer is over before a bar could be read. */
const WORTH_SHOWING_BYTES = 2 * 1024 * 1024;
const REDRAW_MS = 80;

/**
 * Passes a stream through and shows on stderr how far it is, where someone is looking and it is large enough. The bar
 * is gone when the stream ends, fails or is cancelled.
 */
export function withProgress(
  io: Io,
  body: ReadableStream<Uint8Array>,
  o: { label: string; size?: number },
): ReadableStream<Uint8Array> {
  const unwanted = !io.stderr.isTTY || io.json || (o.size ?? Number.POSITIVE_INFINITY) < WORTH_SHOWING_BYTES;
  if (unwanted) return body;
  const bar = new Bar(io, o.label, o.size);
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            bar.clear();
            controller.close();
            return;
          }
          bar.add(value.byteLength);
          controller.enqueue(value);
        } catch (error) {
          bar.clear();
          throw error;
        }
      },
      async cancel(reason) {
        bar.clear();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

class Bar {
  readonly #io: Io;
  readonly #label: string;
  readonly #size: number | undefined;
  #done = 0;
  #drawnAt = 0;
  #drawn = false;

  constructor(io: Io, label: string, size: number | undefined) {
    this.#io = io;
    this.#label = label.length > 24 ? `${label.slice(0, 23)}…` : label;
    this.#size = size;
  }

  add(n: number): void {
    this.#done += n;
    const now = performance.now();
    if (this.#done < WORTH_SHOWING_BYTES / 4 || now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    this.#drawn = true;
    this.#io.stderr.write(`\r\u001b[K${this.#line()}`);
  }

  clear(): void {
    if (this.#drawn) this.#io.stderr.write('\r\u001b[K');
    this.#drawn = false;
  }

  #line(): string {
    if (this.#size === undefined) return `${this.#label}  ${bytes(this.#done)}`;
    const share = Math.min(1, this.#done / this.#size);
    const cells = Math.max(10, Math.min(30, this.#io.stderr.columns - 50));
    const full = Math.round(share * cells);
    const bar = '█'.repeat(full) + this.#io.errorStyle.dim('░'.repeat(cells - full));
    const percent = `${Math.floor(share * 100)}`.padStart(3);
    return `${this.#label}  ${bar} ${percent} %  ${bytes(this.#done)} of ${bytes(this.#size)}`;
  }
}
