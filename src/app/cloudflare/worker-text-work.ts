import table from 'relay:token-table';
import { joined, readerOf, streamFrom } from '../../base/byte-streams.ts';
import { RelayError } from '../../base/errors.ts';
import { exactBytes } from '../../base/format.ts';
import { WORKER_FOLD_WORK, WORKER_HELD_TEXT_BYTES } from '../../base/limits.ts';
import { readText } from '../../base/utf8.ts';
import { WorkMeter } from '../../base/work-meter.ts';
import type { TextWork } from '../../domain/text-work.ts';
import { runFold } from '../../domain/threads/fold-job.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import { re2Matcher } from '../../text/parts/re2-matcher.ts';
import { takePart } from '../../text/parts/take-part.ts';
import { makePreview } from '../../text/preview/preview.ts';
import { tokenCounter } from '../../text/token-count.ts';
import { openTokenTable } from '../../text/token-table.ts';

const countTokens = tokenCounter(openTokenTable(new Uint8Array(table)));

/**
 * Works where the request is, since there is no other thread, on at most so many bytes of a body. Of a longer one the beginning is
 * counted, and the figure is an estimate. A part is refused before anything is read; lines only once they are not among the first bytes.
 */
export function workerTextWork(mostBytes: number): TextWork {
  const heldBytes = Math.min(mostBytes, WORKER_HELD_TEXT_BYTES);
  return {
    async count(text, { size } = {}) {
      const [start, times] = await beginning(text, heldBytes, size);
      const { tokens, tokenizer, estimated } = countTokens(start);
      return { tokens: Math.round(tokens * times), tokenizer, estimated: estimated || times > 1 };
    },
    async part(body, request, o = {}) {
      const size = body instanceof Uint8Array ? body.length : (o.size ?? 0);
      const most = 'json' in request || 'outline' in request ? heldBytes : mostBytes;
      if (size <= most) return takePart(body, request, re2Matcher);
      const refusal = tooCostly(size, most);
      if ('lines' in request) return takePart(streamFrom(upTo(body, most, refusal)), request, re2Matcher);
      // The refusal is thrown; a failure to close the body adds nothing.
      if (!(body instanceof Uint8Array)) await body.cancel().catch(() => {});
      throw refusal;
    },
    preview: async (kind, content) =>
      makePreview(kind, { ...content, start: content.start.subarray(0, mostBytes) }),
    fold: (job, events) => runFold(job, events, new WorkMeter(WORKER_FOLD_WORK)),
  };
}

/** The beginning of a text, and how many times as long the whole is. A stream whose size nobody told is read whole. */
async function beginning(
  text: string | BlobBody,
  most: number,
  size = Number.NaN,
): Promise<[start: string, times: number]> {
  if (!(text instanceof ReadableStream)) {
    const start = typeof text === 'string' ? text.slice(0, most) : await readText(text.subarray(0, most));
    return [start, Math.max(1, text.length / most)];
  }
  if (!(size > most)) return [await readText(text), 1];
  const reader = readerOf(text);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  while (bytes < most) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    bytes += value.length;
  }
  // Enough was read; a failure to close the rest changes nothing.
  await reader.cancel().catch(() => {});
  return [await readText(joined(pieces)), size / bytes];
}

async function* upTo(body: BlobBody, most: number, refusal: RelayError): AsyncGenerator<Uint8Array> {
  let left = most;
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    yield piece.subarray(0, left);
    left -= piece.length;
    if (left < 0) throw refusal;
  }
}

function tooCostly(size: number, most: number): RelayError {
  return new RelayError('too_costly', {
    what: `for this relay: it has ${exactBytes(size)}, of which ${exactBytes(most)} may be looked at for this`,
    hint: 'Ask for lines near its beginning, such as lines=1-100, or pull a range of its bytes (a Range header, with ?raw=1 for a pointer) and look at that.',
  });
}
