import { RelayError } from '../base/errors.ts';
import { INLINE_BLOB_BYTES } from '../base/limits.ts';
import type { Pulled } from '../contract/pointers.ts';
import { type HttpAnswer, type HttpCall, type HttpClient, notARelay } from './http-client.ts';
import { collect, letGo } from './payload.ts';

type Range = NonNullable<Pulled['range']>;

/**
 * The bytes of an answer, of which the headers tell `known`: in one piece where they are few, otherwise as a stream. `range` is what was
 * asked for.
 */
export async function receive<T extends { readonly size: number }>(
  client: HttpClient,
  call: HttpCall,
  answer: HttpAnswer,
  known: T | null,
  range: Range | undefined,
): Promise<{ known: T; body: Uint8Array | ReadableStream<Uint8Array>; range?: Range }> {
  const start = startOf(answer);
  if (known === null || start === null) {
    await letGo(answer.body);
    throw notARelay(client.base, 'the content came without its headers');
  }
  const partial = answer.status === 206;
  const end = partial && range ? Math.min(range.end, known.size) : known.size;
  const taken = { known, ...(partial ? { range: { start, end } } : {}) };
  if (answer.body && end - start > INLINE_BLOB_BYTES) {
    const etag = answer.headers.get('etag');
    return { ...taken, body: resumingBody(client, call, answer.body, { start, end, etag }) };
  }
  const limit = { bytes: end - start, what: 'a payload' };
  const body = await collect(answer.body ?? new Uint8Array(0), limit);
  if (body.byteLength < end - start) throw brokeOff(client.base);
  return { ...taken, body };
}

/**
 * The bytes from `start` to `end` of a payload. Payloads never change, so a connection that breaks is taken up again
 * where it broke.
 */
function resumingBody(
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
        // The stream is broken; `error` says why.
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
export function rangeHeader({ start, end }: Range): string {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end <= start) {
    throw new RelayError('bad_request', {
      what: 'A range goes from a byte to a later one; `end` is not part of it.',
    });
  }
  return `bytes=${start}-${end - 1}`;
}

/** Where the bytes of an answer begin: 0, unless it is partial. */
function startOf({ status, headers }: Pick<HttpAnswer, 'status' | 'headers'>): number | null {
  if (status !== 206) return 0;
  const match = /^bytes (\d+)-\d+\//.exec(headers.get('content-range') ?? '');
  return match ? Number(match[1]) : null;
}

function brokeOff(base: string): RelayError {
  return new RelayError('unreachable', { what: base });
}
