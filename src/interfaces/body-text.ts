import { RelayError } from '../base/errors.ts';

/** A body as text, refused while it is being read once it is longer than the limit. */
export async function bodyText(
  { body }: { readonly body: AsyncIterable<Uint8Array> | null },
  limit: { readonly bytes: number; readonly what: string },
  decoder = new TextDecoder(),
): Promise<string> {
  let text = '';
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > limit.bytes) throw new RelayError('too_large', { what: limit.what, limit: limit.bytes });
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
