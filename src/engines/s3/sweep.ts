import type { BucketBlobs } from './blobs.ts';
import type { Place } from './store-bucket.ts';

/**
 * Deletes the objects of this store that no stub names, and uploads that came to nothing, once they are old enough for nobody to be
 * about to name them. The objects are listed first: what is named later is younger. Gives the bytes that went and those that are left.
 */
export async function sweepBucket(
  { id, bucket }: Place,
  o: { readonly blobs: BucketBlobs; readonly orphanMs: number },
): Promise<{ freed: number; left: number }> {
  const orphans = new Map<string, number>();
  let [freed, left] = [0, 0];
  for await (const { name, size, ageMs } of bucket.list(`${id}/`)) {
    left += size;
    if (ageMs > o.orphanMs) orphans.set(name, size);
  }
  if (orphans.size > 0) for await (const name of o.blobs.objects()) orphans.delete(name);
  for (const [name, size] of orphans) {
    await bucket.delete(name);
    freed += size;
  }
  for (const { name, id: upload, ageMs } of await bucket.uploads(`${id}/`))
    if (ageMs > o.orphanMs) await bucket.abort(name, upload);
  return { freed, left: left - freed };
}
