import table from 'relay:token-table';
import { concatBytes, readerOf, streamFrom } from '../../base/byte-streams.ts';
import { RelayError } from '../../base/errors.ts';
import { exactBytes } from '../../base/format.ts';
import { WORKER_FOLD_WORK, WORKER_HELD_TEXT_BYTES } from '../../base/limits.ts';
import { readText } from '../../base/utf8.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { runFold } from '../../domain/threads/fold-job.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { excerpt } from '../../text/excerpt/excerpt.ts';
import { re2Matcher } from '../../text/parts/re2-matcher.ts';
import { takePart } from '../../text/parts/take-part.ts';
import { makePreview } from '../../text/preview/preview.ts';
import { tokenCounter } from '../../text/token-count.ts';
import { openTokenTable } from '../../text/token-table.ts';

const countTokens = tokenCounter(openTokenTable(new Uint8Array(table)));
const counter = { count: async (text: string) => countTokens(text) };

/**
 * Returns the text work that runs in the Worker itself, which has no other thread. It reads at most `maxBytes` of
 * a payload. The token count of a longer payload is estimated from its start. A part of a longer payload is
 * rejected, except lines within the first `maxBytes`.
 */
export function workerTextWork(maxBytes: number): TextWork {
  const heldBytes = Math.min(maxBytes, WORKER_HELD_TEXT_BYTES);
  return {
    async count(text, { size } = {}) {
      const [start, times] = await readStart(text, heldBytes, size);
      const { tokens, tokenizer, estimated } = countTokens(start);
      return { tokens: Math.round(tokens * times), tokenizer, estimated: estimated || times > 1 };
    },
    async part(body, request, o = {}) {
      const size = body instanceof Uint8Array ? body.length : (o.size ?? 0);
      const max = 'json' in request || 'outline' in request ? heldBytes : maxBytes;
      if (size <= max) return takePart(body, request, re2Matcher);
      const refusal = tooCostlyError(size, max);
      if ('lines' in request)
        return takePart(streamFrom(limitBytes(body, max, refusal)), request, re2Matcher);
      // An error while closing the payload does not matter, because the request fails anyway.
      if (!(body instanceof Uint8Array)) await body.cancel().catch(() => {});
      throw refusal;
    },
    async excerpt(body, { budget }, o = {}) {
      const size = body instanceof Uint8Array ? body.length : (o.size ?? 0);
      return excerpt(limitBytes(body, heldBytes, tooCostlyError(size, heldBytes)), { budget, counter });
    },
    preview: async (kind, content) =>
      makePreview(kind, { ...content, start: content.start.subarray(0, maxBytes) }),
    async fold(load) {
      const { job, events } = await load();
      return runFold(job, events, new WorkMeter(WORKER_FOLD_WORK));
    },
  };
}

/**
 * Returns the start of a text, and the ratio of the total length to the length of the start. A stream of
 * unknown size is read completely.
 */
async function readStart(
  text: string | BlobBody,
  max: number,
  size = Number.NaN,
): Promise<[start: string, times: number]> {
  if (!(text instanceof ReadableStream)) {
    const start = typeof text === 'string' ? text.slice(0, max) : await readText(text.subarray(0, max));
    return [start, Math.max(1, text.length / max)];
  }
  if (!(size > max)) return [await readText(text), 1];
  const reader = readerOf(text);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < max) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    bytes += value.length;
  }
  // Enough was read, so close the stream. An error while closing does not matter.
  await reader.cancel().catch(() => {});
  return [await readText(concatBytes(pieces)), size / bytes];
}

async function* limitBytes(body: BlobBody, max: number, refusal: RelayError): AsyncGenerator<Uint8Array> {
  let left = max;
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left < 0) throw refusal;
  }
}

function tooCostlyError(size: number, max: number): RelayError {
  return new RelayError('too_costly', {
    what: `work for this relay: the payload has ${exactBytes(size)}, and a request may process at most ${exactBytes(max)}`,
    hint: 'Request lines near the start, such as lines=1-100, or pull a byte range (Range header, with ?raw=1 for a pointer) and search it yourself.',
  });
}
