import type { BucketBlobs } from './blobs.ts';
import type { Bucket } from './bucket.ts';

/**
 * Deletes the objects of this store that no stub names, and uploads that came to nothing, once they are old enough for nobody to be
 * about to name them. The objects are listed first: what is named later is younger. Gives the bytes.
 */
export async function sweepBucket(
  bucket: Bucket,
  o: { readonly storeId: string; readonly blobs: BucketBlobs; readonly orphanMs: number },
): Promise<number> {
  const { storeId, blobs, orphanMs } = o;
  const orphans = new Map<string, number>();
  for await (const { name, size, ageMs } of bucket.list(`${storeId}/`))
    if (ageMs > orphanMs) orphans.set(name, size);
  if (orphans.size > 0) for await (const name of blobs.objects()) orphans.delete(name);
  let bytes = 0;
  for (const [name, size] of orphans) {
    await bucket.delete(name);
    bytes += size;
  }
  for (const { name, id, ageMs } of await bucket.uploads(`${storeId}/`))
    if (ageMs > orphanMs) await bucket.abort(name, id);
  return bytes;
}
