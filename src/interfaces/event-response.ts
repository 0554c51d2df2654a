import { RelayError } from '../base/errors.ts';
import { SLOW_READER_BYTES, SSE_HEARTBEAT_MS } from '../base/limits.ts';

export const EVENT_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  // Some proxies would hold a stream back until it ends.
  'X-Accel-Buffering': 'no',
};

export interface EventWriter<T> {
  /** One event as it goes over the wire, with the empty line behind it. */
  write(event: T): string;
  /** The last event of a stream that failed. By default it ends without one: readers come back by themselves. */
  failed?(error: unknown): string;
  /** What is sent before the first event. */
  readonly head?: string;
  /** What is sent behind the last one, where the stream did not fail. */
  tail?(): string;
  /** What shows now and then that the connection is alive; a comment by default. */
  readonly heartbeat?: string;
  readonly headers?: Record<string, string>;
  /** Called once, when the stream is over or its reader has left. */
  ended?(): void | Promise<void>;
  /** Ends the stream, whether or not anybody reads it. */
  readonly signal?: AbortSignal;
}

/** Server-sent events, or anything else that comes piece by piece and may take its time. */
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
 * A stream whose source sends without asking how fast it is read, ended for a reader that does not keep up: what waits would fill the memory
 * otherwise. The reader comes back by itself.
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
            controller.error(new RelayError('aborted', { what: 'the reader does not keep up' }));
            return reader.cancel();
          }
        };
        // Not awaited: a stream is not read from before it has started.
        pass().catch((error) => controller.error(error));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: most, size: (chunk) => chunk?.byteLength ?? 0 },
  );
}
