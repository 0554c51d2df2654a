import { formatSSEErrorEvent, formatSSEEvent, SSE_HEADERS } from '@a2a-js/sdk';
import { RelayError } from '../../base/errors.ts';
import { A2A_REQUEST_BYTES, SSE_HEARTBEAT_MS } from '../../base/limits.ts';

/** The body as text, cut off while being read. */
export async function readBody(request: Request): Promise<string> {
  if (!request.body) return '';
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > A2A_REQUEST_BYTES)
      throw new RelayError('too_large', { what: 'an A2A request', limit: A2A_REQUEST_BYTES });
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Server-sent events. What goes wrong before the first is answered as if it were no stream. */
export async function asEvents(
  events: AsyncIterable<unknown>,
  failure: (error: unknown) => unknown,
  refused: (error: unknown) => Response,
): Promise<Response> {
  const iterator = events[Symbol.asyncIterator]();
  let first: IteratorResult<unknown>;
  try {
    first = await iterator.next();
  } catch (error) {
    return refused(error);
  }
  const encoder = new TextEncoder();
  let beating: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      beating = setInterval(() => controller.enqueue(encoder.encode(': alive\n\n')), SSE_HEARTBEAT_MS);
    },
    async pull(controller) {
      try {
        const { value, done } = first ?? (await iterator.next());
        first = undefined as never;
        if (!done) return controller.enqueue(encoder.encode(formatSSEEvent(value)));
      } catch (error) {
        controller.enqueue(encoder.encode(formatSSEErrorEvent(failure(error))));
      }
      clearInterval(beating);
      controller.close();
    },
    async cancel() {
      clearInterval(beating);
      await iterator.return?.();
    },
  });
  return new Response(body, { headers: SSE_HEADERS });
}

/**
 * An answer that may take minutes. What takes longer than a heartbeat begins with spaces, which mean nothing in JSON, so
 * that nobody in between takes the connection for dead.
 */
export async function patiently(answer: Promise<Response>): Promise<Response> {
  const early = await Promise.race([answer, pause(SSE_HEARTBEAT_MS)]);
  if (early) return early;
  let beating: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const space = new Uint8Array([0x20]);
      controller.enqueue(space);
      beating = setInterval(() => controller.enqueue(space), SSE_HEARTBEAT_MS);
      answer
        .then(async (late) => {
          clearInterval(beating);
          controller.enqueue(new Uint8Array(await late.arrayBuffer()));
          controller.close();
        })
        .catch((error) => {
          clearInterval(beating);
          controller.error(error);
        });
    },
    cancel: () => clearInterval(beating),
  });
  return new Response(body, { headers: { 'Content-Type': 'application/json' } });
}

function pause(ms: number): Promise<null> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), ms).unref?.();
  });
}
