import { RelayError } from '../base/errors.ts';
import type { HttpAnswer, HttpCall, HttpClient } from './http-client.ts';
import { notARelay } from './http-failure.ts';
import { letGo } from './streams.ts';

/**
 * The bytes from `start` to `end` of a payload. Payloads never change, so a connection that breaks is taken up again
 * where it broke.
 */
export function resumingBody(
  client: HttpClient,
  call: HttpCall,
  first: ReadableStream<Uint8Array>,
  { start, end, etag }: { start: number; end: number; etag: string | null },
): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = first.getReader();
  let at = start;
  let attempt = 0;

  async function resume(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    const headers = {
      ...call.headers,
      Range: rangeHeader({ start: at, end }),
      ...(etag ? { 'If-Range': etag } : {}),
    };
    return client.run({ ...call, headers }, async (answer) => {
      if (answer.body && startOf(answer) === at) return answer.body.getReader();
      await letGo(answer.body);
      throw notARelay(client.base, 'it does not go on where the connection broke');
    });
  }

  async function next(): Promise<Uint8Array | null> {
    for (;;) {
      try {
        reader ??= await resume();
        const { done, value } = await reader.read();
        if (value && at + value.byteLength > end) throw notARelay(client.base, 'it sends more than it said');
        if (value) return value;
        // Some ends are silent: a close behind which no length was announced.
        if (done && at === end) return null;
        throw brokeOff(client.base);
      } catch (error) {
        await reader?.cancel().catch(() => {});
        reader = null;
        await client.pause(call, error, attempt++);
      }
    }
  }

  return new ReadableStream(
    {
      async pull(controller) {
        const chunk = await next();
        if (chunk === null) return controller.close();
        at += chunk.byteLength;
        if (chunk.byteLength > 0) attempt = 0;
        controller.enqueue(chunk);
      },
      cancel: async (reason) => {
        await reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** `end` is exclusive here and inclusive on the wire. */
export function rangeHeader({ start, end }: { start: number; end: number }): string {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end <= start) {
    throw new RelayError('bad_request', {
      what: 'A range goes from a byte to a later one; `end` is not part of it.',
    });
  }
  return `bytes=${start}-${end - 1}`;
}

/** Where the bytes of an answer begin: 0, unless it is partial. */
export function startOf({ status, headers }: Pick<HttpAnswer, 'status' | 'headers'>): number | null {
  if (status !== 206) return 0;
  const match = /^bytes (\d+)-\d+\//.exec(headers.get('content-range') ?? '');
  return match ? Number(match[1]) : null;
}

export function brokeOff(base: string): RelayError {
  return new RelayError('unreachable', { what: base });
}
