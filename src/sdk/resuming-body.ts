import { badRequest, RelayError } from '../base/errors.ts';
import { INLINE_BLOB_BYTES } from '../base/limits.ts';
import type { Pulled } from '../contract/pointers.ts';
import { type Deadline, type HttpAnswer, type HttpCall, type HttpClient, notARelay } from './http-client.ts';
import { collect, discardBody } from './payload.ts';

type Range = NonNullable<Pulled['range']>;

/**
 * Reads the body of a response. A small body is read into memory. A large one is returned as a stream that
 * resumes after a lost connection. `description` is what the response headers say about the payload. `range`
 * is the byte range that the client requested.
 */
export async function readBody<T extends { readonly size: number }>(
  client: HttpClient,
  call: HttpCall,
  answer: HttpAnswer,
  description: T | null,
  range: Range | undefined,
): Promise<{ description: T; body: Uint8Array | ReadableStream<Uint8Array>; range?: Range }> {
  const start = startOf(answer);
  if (description === null || start === null) {
    await discardBody(answer.body);
    throw notARelay(client.base, 'the response has no Relay-* headers');
  }
  const partial = answer.status === 206;
  const end = partial && range ? Math.min(range.end, description.size) : description.size;
  const received = { description, ...(partial ? { range: { start, end } } : {}) };
  if (answer.body && end - start > INLINE_BLOB_BYTES) {
    const etag = answer.headers.get('etag');
    return { ...received, body: resumingBody(client, call, answer.body, { start, end, etag }) };
  }
  const limit = { bytes: end - start, what: 'a payload' };
  const body = await collect(answer.body ?? new Uint8Array(0), limit);
  if (body.byteLength < end - start) throw connectionLost(client.base);
  return { ...received, body };
}

/**
 * Streams the bytes of a payload from `start` to `end`. After a lost connection, requests the rest. This is safe,
 * because a payload never changes.
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

  async function resume(deadline: Deadline): Promise<ReadableStreamDefaultReader<Uint8Array>> {
    const headers = {
      ...call.headers,
      Range: rangeHeader({ start: at, end }),
      ...(etag ? { 'If-Range': etag } : {}),
    };
    const read = async (answer: HttpAnswer) => {
      if (answer.body && startOf(answer) === at) return answer.body.getReader();
      await discardBody(answer.body);
      throw notARelay(client.base, 'it did not continue at the requested byte');
    };
    return client.run({ ...call, headers }, read, deadline);
  }

  async function next(): Promise<Uint8Array | null> {
    // This deadline limits the time without progress. It covers all attempts to resume.
    const deadline = client.deadline();
    for (;;) {
      try {
        reader ??= await resume(deadline);
        const { done, value } = await reader.read();
        if (value && at + value.byteLength > end)
          throw notARelay(client.base, 'it sent more bytes than announced');
        if (value) return value;
        // Without a Content-Length, a lost connection looks like the end of the body. So accept the end only
        // at the expected position.
        if (done && at === end) return null;
        throw connectionLost(client.base);
      } catch (error) {
        // Ignore a failure to cancel, because the stream is already broken.
        await reader?.cancel().catch(() => {});
        reader = null;
        await client.pause(call, error, attempt++, deadline);
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

/** Formats a Range header. `end` is exclusive in the argument and inclusive in the header. */
export function rangeHeader({ start, end }: Range): string {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end <= start) {
    throw badRequest('A range needs whole numbers with 0 <= `start` < `end`. `end` is exclusive.');
  }
  return `bytes=${start}-${end - 1}`;
}

/**
 * Returns the offset of the first byte in a response. It is 0 for a complete response. Returns null for a
 * partial response without a Content-Range header.
 */
function startOf({ status, headers }: Pick<HttpAnswer, 'status' | 'headers'>): number | null {
  if (status !== 206) return 0;
  const match = /^bytes (\d+)-\d+\//.exec(headers.get('content-range') ?? '');
  return match ? Number(match[1]) : null;
}

function connectionLost(base: string): RelayError {
  return new RelayError('unreachable', { what: base });
}
