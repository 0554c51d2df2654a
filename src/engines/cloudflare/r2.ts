import type { R2Bucket } from '@cloudflare/workers-types';
import type { ObjectBucket } from '../s3/store-bucket.ts';

/** Opens an R2 bucket that is bound to a Worker. The platform deletes unfinished uploads after a week. */
export function openR2(bucket: R2Bucket): ObjectBucket {
  return {
    name: 'R2',
    prefix: '',
    outage: null,
    async put(name, body) {
      await bucket.put(name, body);
    },
    begin: async (name) => (await bucket.createMultipartUpload(name)).uploadId,
    putPart: async (name, id, number, body) =>
      (await bucket.resumeMultipartUpload(name, id).uploadPart(number, body)).etag,
    async complete(name, id, etags) {
      const parts = etags.map((etag, i) => ({ partNumber: i + 1, etag }));
      await bucket.resumeMultipartUpload(name, id).complete(parts);
    },
    abort: (name, id) => bucket.resumeMultipartUpload(name, id).abort(),
    delete: (name) => bucket.delete(name),
    async read(name, { start, end }, missing) {
      const found = await bucket.get(name, { range: { offset: start, length: end - start } });
      if (found === null) throw missing();
      return found.body as unknown as ReadableStream<Uint8Array>;
    },
    async *list(prefix) {
      for (let cursor: string | undefined; ; ) {
        const page = await bucket.list({ prefix, cursor });
        const now = Date.now();
        for (const { key, size, uploaded } of page.objects)
          yield { name: key, size, ageMs: now - uploaded.getTime() };
        if (!page.truncated) return;
        ({ cursor } = page);
      }
    },
    uploads: async () => [],
  };
}
