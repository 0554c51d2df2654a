import { RelayError } from '../../../base/errors.ts';
import { decodeUtf8 } from '../../../base/utf8.ts';

/** A whole payload as text, up to a limit. */
export async function readAllText(
  body: Uint8Array | ReadableStream<Uint8Array>,
  limit: number,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    size += chunk.byteLength;
    if (size > limit) throw new RelayError('too_large', { what: 'the text', limit });
    chunks.push(chunk);
  }
  const text = decodeUtf8(Buffer.concat(chunks));
  if (text !== null) return text;
  throw new RelayError('bad_usage', { what: 'That is not text.', hint: 'Push it, and send the pointer.' });
}
