import { fromBase64, toBase64 } from '../../base/base64.ts';
import type { BlobInfo } from '../../kernel/blobs.ts';

/** The largest body that there is on any engine; the hashes of its blocks are what makes a stub as long as it is. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Every stub has this length, so that hardly any other body has to be read to see that it is none: room for the hashes of
 * the largest body, in base64, and for what else it says.
 */
export const STUB_BYTES = 5_807;

/** The record of a store with bodies in a bucket: where it is, and the id with which the names of its objects begin. */
export const BUCKET_RECORD = 'sys/bucket';

/** What the engine keeps in place of a body that lies in the bucket. */
export interface Stub extends BlobInfo {
  /** That of the object, below the id of the store. */
  readonly name: string;
  /** As in `block-hashes.ts`. */
  readonly blocks: Uint8Array;
}

/** The id of the store is known to nobody outside, so nobody can push what passes for a stub. */
function opening(storeId: string): string {
  return `{"bodyInBucketOf":"${storeId}",`;
}

export function writeStub(storeId: string, { name, size, sha256, blocks }: Stub): Uint8Array<ArrayBuffer> {
  const rest = JSON.stringify({ name, size, sha256, blocks: toBase64(blocks) }).slice(1);
  const bytes = new Uint8Array(STUB_BYTES).fill(0x20);
  const text = new TextEncoder().encode(opening(storeId) + rest);
  if (text.length > STUB_BYTES) throw new RangeError('a body has more blocks than a stub can name');
  bytes.set(text);
  return bytes;
}

/** Null for any other body. */
export function readStub(storeId: string, bytes: Uint8Array): Stub | null {
  if (bytes.length !== STUB_BYTES) return null;
  const text = new TextDecoder().decode(bytes);
  if (!text.startsWith(opening(storeId))) return null;
  const { name, size, sha256, blocks } = JSON.parse(text) as Omit<Stub, 'blocks'> & { blocks: string };
  return { name, size, sha256, blocks: fromBase64(blocks)! };
}
