import { RelayError } from '../base/errors.ts';
import { SLOW_READER_BYTES, SSE_HEARTBEAT_MS } from '../base/limits.ts';

export const EVENT_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  // Keeps nginx from buffering the stream until it ends.
  'X-Accel-Buffering': 'no',
};

interface EventWriter<T> {
  /** Serializes one event, including the empty line that ends it. */
  write(event: T): string;
  /**
   * Serializes a last event after the stream has failed. By default the stream just ends, and clients
   * reconnect.
   */
  failed?(error: unknown): string;
  /** Text sent before the first event. */
  readonly head?: string;
  /** Returns the text after the last event. Not called if the stream failed. */
  tail?(): string;
  /** Text that is sent periodically to keep the connection open. Default: a comment of server-sent events. */
  readonly heartbeat?: string;
  readonly headers?: Record<string, string>;
  /** Called once, when the stream ends or the client disconnects. */
  ended?(): void | Promise<void>;
  /** Stops the heartbeat: a stream that nobody reads never ends by itself. */
  readonly signal?: AbortSignal;
}

/**
 * Returns a response that streams events as they arrive, with heartbeats in between. The format is
 * server-sent events or whatever `write` produces.
 */
export function eventResponse<T>(events: AsyncIterable<T>, o: EventWriter<T>): Response {
  const utf8 = new TextEncoder();
  const heartbeat = utf8.encode(o.heartbeat ?? ': still here\n\n');
  const iterator = events[Symbol.asyncIterator]();
  let beating: ReturnType<typeof setInterval> | undefined;
  const end = () => {
    clearInterval(beating);
    return o.ended?.();
  };
  o.signal?.addEventListener('abort', () => clearInterval(beating), { once: true });
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (o.head) controller.enqueue(utf8.encode(o.head));
      beating = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(heartbeat);
      }, SSE_HEARTBEAT_MS);
      if (o.signal?.aborted) clearInterval(beating);
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (!done) return controller.enqueue(utf8.encode(o.write(value)));
        const tail = o.tail?.();
        if (tail) controller.enqueue(utf8.encode(tail));
      } catch (error) {
        if (o.failed) controller.enqueue(utf8.encode(o.failed(error)));
      }
      controller.close();
      await end();
    },
    cancel: end,
  });
  return new Response(body, { headers: o.headers ?? EVENT_HEADERS });
}

/**
 * Returns a stream that fails if more than `most` bytes wait for a slow client, which then reconnects. Use it for
 * sources that ignore backpressure: otherwise the waiting bytes would fill the memory.
 */
export function endForSlowReader(
  source: ReadableStream<Uint8Array>,
  most = SLOW_READER_BYTES,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const pass = async () => {
          for (;;) {
            const { done, value } = await reader.read();
            if (done) return controller.close();
            controller.enqueue(value);
            if ((controller.desiredSize ?? 0) >= 0) continue;
            controller.error(new RelayError('aborted', { what: 'the client reads too slowly' }));
            return reader.cancel();
          }
        };
        // Do not await this: nobody can read the stream before `start` returns.
        pass().catch((error) => controller.error(error));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: most, size: (chunk) => chunk?.byteLength ?? 0 },
  );
}
