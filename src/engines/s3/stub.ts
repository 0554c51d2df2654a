import { fromBase64, toBase64 } from '../../base/base64.ts';
import type { BlobInfo } from '../../kernel/blobs.ts';

/** Maximum size in bytes of a blob in any engine. A stub has room for the block checksums of a blob of this size. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Length of every stub in bytes: enough for the block checksums of the largest blob in base64 and for the
 * other fields. A blob of another length cannot be a stub, so only blobs of this length are examined.
 */
export const STUB_BYTES = 5_807;

/** Key of the record with the address of the bucket and the id with which all object names of the store start. */
export const BUCKET_RECORD = 'sys/bucket';

/** Placeholder that the engine stores instead of a blob that is in the bucket. */
export interface Stub extends BlobInfo {
  /** Name of the object, which starts with the id of the store. */
  readonly name: string;
  /** Block checksums, in the format of `block-hashes.ts`. */
  readonly blocks: Uint8Array;
}

/**
 * Returns the first characters of a stub. They contain the secret id of the store, so no client can push a fake stub.
 */
function stubStart(storeId: string): string {
  return `{"bodyInBucketOf":"${storeId}",`;
}

/** Encodes a stub. */
export function writeStub(storeId: string, { name, size, sha256, blocks }: Stub): Uint8Array<ArrayBuffer> {
  const rest = JSON.stringify({ name, size, sha256, blocks: toBase64(blocks) }).slice(1);
  const bytes = new Uint8Array(STUB_BYTES).fill(0x20);
  const text = new TextEncoder().encode(stubStart(storeId) + rest);
  if (text.length > STUB_BYTES) throw new RangeError('the payload is too large for the bucket');
  bytes.set(text);
  return bytes;
}

/** Decodes a stub. Returns null for any other blob. */
export function readStub(storeId: string, bytes: Uint8Array): Stub | null {
  if (bytes.length !== STUB_BYTES) return null;
  const text = new TextDecoder().decode(bytes);
  if (!text.startsWith(stubStart(storeId))) return null;
  const { name, size, sha256, blocks } = JSON.parse(text) as Omit<Stub, 'blocks'> & { blocks: string };
  return { name, size, sha256, blocks: fromBase64(blocks)! };
}
