import { DurableObject } from 'cloudflare:workers';
import type { DurableObjectNamespace, R2Bucket } from '@cloudflare/workers-types';
import { type ObjectEngine, openObjectEngine } from '../../src/engines/cloudflare/engine.ts';
import { manualClock } from '../conformance/case.ts';
import { suite } from '../conformance/suite.ts';

interface Bindings {
  readonly CASES: DurableObjectNamespace;
  readonly BODIES: R2Bucket;
}

/** Runs one conformance case on an engine in this object. The path of the request names the case. */
export class CaseObject extends DurableObject<Bindings> {
  async fetch(request: Request): Promise<Response> {
    const name = nameIn(request);
    const found = suite.find((each) => each.name === name);
    if (!found) return new Response(`no case is called "${name}"`, { status: 404 });
    const clock = manualClock();
    const { storage } = this.ctx;
    const { BODIES: bucket } = this.env;
    // The limit is lower than in production, so that more cases use the bucket. Cases about the whole engine count
    // blobs, but the bucket keeps the object of a deleted blob for an hour.
    const above = name.startsWith('engine:') ? undefined : 60_000;
    const engine = await openObjectEngine({ storage, bucket, env: clock.env, above });
    try {
      await found.run(engine, clock, { damage: (key, offset) => this.#damage(engine, key, offset) });
      return new Response('ok');
    } catch (error) {
      return new Response((error as Error).stack ?? String(error), { status: 500 });
    } finally {
      await engine[Symbol.asyncDispose]();
    }
  }

  /** Changes a byte of a blob, in its row or in the bucket. */
  async #damage({ blobs }: ObjectEngine, key: string, offset: number): Promise<void> {
    const { sql } = this.ctx.storage;
    const stub = await blobs.stub(key);
    const stored = stub
      ? await (await this.env.BODIES.get(stub.name))!.arrayBuffer()
      : (sql.exec('SELECT body FROM blobs WHERE key = ?', key).one().body as ArrayBuffer);
    const altered = new Uint8Array(stored);
    altered[offset]! ^= 1;
    if (stub) await this.env.BODIES.put(stub.name, altered);
    else sql.exec('UPDATE blobs SET body = ? WHERE key = ?', altered, key);
  }
}

/** Passes each request to an object of its own. */
export default {
  async fetch(request: Request, { CASES }: Bindings) {
    return CASES.get(CASES.idFromName(nameIn(request))).fetch(request as never);
  },
};

function nameIn({ url }: Request): string {
  return decodeURIComponent(new URL(url).pathname.slice(1));
}
