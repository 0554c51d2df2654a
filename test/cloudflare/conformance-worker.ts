import type { DurableObjectState } from '@cloudflare/workers-types';
import { openCloudflare } from '../../src/engines/cloudflare/engine.ts';
import { objectOf } from '../../src/engines/cloudflare/objects.ts';
import { type Bindings, type Objects, StoreObject } from '../../src/engines/cloudflare/store-object.ts';
import { manualClock } from '../conformance/case.ts';
import { suite } from '../conformance/suite.ts';

/** Returns the objects of one case. Their names get a prefix, so that no other case uses these objects. */
function objectsOf(all: Objects, mark: string): Objects {
  return {
    idFromName: (name) => all.idFromName(name.startsWith(mark) ? name : mark + name),
    get: (id) => all.get(id),
  };
}

/** An object without alarms: alarms follow the machine's clock, but the cases use their own clock. */
export class StillObject extends StoreObject {
  constructor(state: DurableObjectState, bindings: Bindings) {
    const mark = state.id.name!.slice(0, state.id.name!.indexOf('|') + 1);
    super(state, { ...bindings, STORE: objectsOf(bindings.STORE, mark) });
  }

  override async alarm(): Promise<void> {}

  /** Changes a byte of a blob, in its row or in the bucket. */
  async damage(key: string, offset: number): Promise<void> {
    const { sql } = this.ctx.storage;
    const [row] = sql.exec<{ bytes: ArrayBuffer | null; name: string | null }>(
      'SELECT bytes, name FROM bodies WHERE key = ?',
      key,
    );
    const { bytes, name } = row!;
    const stored = bytes ?? (await (await this.env.BODIES.get(name!))!.arrayBuffer());
    const altered = new Uint8Array(stored);
    altered[offset]! ^= 1;
    if (bytes === null) await this.env.BODIES.put(name!, altered);
    else sql.exec('UPDATE bodies SET bytes = ? WHERE key = ?', altered, key);
  }
}

/** Runs a conformance case on an engine in this Worker. The path of the request names the case. */
export default {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const found = suite.find((each) => each.name === name);
    const STORE = objectsOf(env.STORE, `${suite.indexOf(found!)}|`);
    if (!found) return new Response(`no case is called "${name}"`, { status: 404 });
    const clock = manualClock();
    const engine = openCloudflare({ objects: STORE, bucket: env.BODIES, env: clock.env });
    try {
      await found.run(engine, clock, {
        damage: (key, offset) => objectNamed(STORE, key).damage(key, offset),
      });
      return new Response('ok');
    } catch (error) {
      return new Response((error as Error).stack ?? String(error), { status: 500 });
    } finally {
      await engine[Symbol.asyncDispose]();
    }
  },
};

function objectNamed(objects: Objects, key: string): StillObject {
  return objects.get(objects.idFromName(objectOf(key))) as unknown as StillObject;
}
