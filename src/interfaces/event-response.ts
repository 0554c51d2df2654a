import { SSE_HEARTBEAT_MS } from '../base/limits.ts';

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
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (o.head) controller.enqueue(utf8.encode(o.head));
      beating = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(heartbeat);
      }, SSE_HEARTBEAT_MS);
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
