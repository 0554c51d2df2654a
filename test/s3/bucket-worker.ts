import { openMemory } from '../../src/engines/memory/engine.ts';
import { parseBucket } from '../../src/engines/s3/address.ts';
import { Bucket } from '../../src/engines/s3/bucket.ts';
import { withBucket } from '../../src/engines/s3/engine.ts';
import { blobCases } from '../conformance/blobs.ts';
import { manualClock } from '../conformance/case.ts';

interface Vars {
  readonly ADDRESS: string;
  readonly AWS_ACCESS_KEY_ID: string;
  readonly AWS_SECRET_ACCESS_KEY: string;
}

/** Runs a conformance case in a Worker, with blobs in a bucket. The path of the request names the case. */
export default {
  async fetch(request: Request, vars: Vars): Promise<Response> {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const env = {
      AWS_ACCESS_KEY_ID: vars.AWS_ACCESS_KEY_ID,
      AWS_SECRET_ACCESS_KEY: vars.AWS_SECRET_ACCESS_KEY,
    };
    try {
      if (name === 'client')
        return Response.json(await useClient(new Bucket(parseBucket(vars.ADDRESS, env))));
      const blobCase = blobCases.find((each) => each.name === name);
      if (!blobCase) return new Response(`no case is called "${name}"`, { status: 404 });
      const clock = manualClock();
      const inner = openMemory({ env: clock.env });
      // The limit is lower than in production, so that more cases use the bucket.
      const engine = await withBucket(inner, { address: vars.ADDRESS, env, above: 60_000 });
      const damage = async (key: string, at: number) => {
        const stub = await engine.blobs.stub(key);
        if (stub === null) return inner.damage(key, at);
        const bucket = new Bucket(parseBucket(vars.ADDRESS, env));
        const bytes = await all(bucket.read(stub.name, { start: 0, end: stub.size }, notThere));
        bytes[at]! ^= 1;
        await bucket.put(stub.name, bytes);
      };
      await blobCase.run(engine, clock, { damage });
      return new Response('ok');
    } catch (error) {
      return new Response((error as Error).stack ?? String(error), { status: 500 });
    }
  },
};

/** Calls every operation of the S3 client and returns the results. */
async function useClient(bucket: Bucket) {
  const bytes = Uint8Array.from({ length: 3_000_000 }, (_, i) => i % 251);
  await bucket.put('worker/one', bytes);
  const part = await all(bucket.read('worker/one', { start: 1_000_000, end: 1_000_007 }, notThere));
  const upload = await bucket.begin('worker/two');
  const parts = [new Uint8Array(6 * 1024 * 1024).fill(1), new Uint8Array(10).fill(2)];
  const etags = [];
  for (const [i, each] of parts.entries())
    etags.push(await bucket.putPart('worker/two', upload, i + 1, each));
  await bucket.complete('worker/two', upload, etags, parts[0]!.length + parts[1]!.length);
  const end = await all(
    bucket.read('worker/two', { start: 6 * 1024 * 1024 - 1, end: 6 * 1024 * 1024 + 2 }, notThere),
  );
  const listed = [];
  for await (const { name, size } of bucket.list('worker/')) listed.push([name, size]);
  await bucket.delete('worker/one');
  const missing = await all(bucket.read('worker/one', { start: 0, end: 1 }, notThere)).catch(String);
  return { part: [...part], end: [...end], listed, missing };
}

function notThere(): Error {
  return new Error('not there');
}

async function all(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(body).arrayBuffer());
}
