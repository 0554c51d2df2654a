import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@cloudflare/workers-types';
import worker, { RelayObject as ServedObject } from '../../src/app/cloudflare/worker.ts';
import type { RelayBindings } from '../../src/app/cloudflare/worker-config.ts';

type Given = ConstructorParameters<typeof ServedObject>;
type Sql = Given[0]['storage']['sql'];

/**
 * Totals since the start: calls of the Worker, written rows, and the calls that each object made to other objects
 * (`made`).
 */
const total = { calls: 0, written: 0, made: {} as { [object: string]: number } };
/** Number of calls per name of a request, including calls after the response and during an open stream. */
const named: Record<string, number> = {};
/** Maximum number of calls that one execution of an object method made, by method. */
const inside: Record<string, number> = {};
const running = new AsyncLocalStorage<{ calls: number }>();
/** The request that makes the current calls. */
const asking = new AsyncLocalStorage<{ calls: number; readonly name: string | null }>();
let exec: Sql['exec'] | null = null;
let bound: RelayBindings | null = null;

/** Wraps bindings so that each call of an object or the bucket first calls `onCall`. */
function counting<Bound extends Pick<RelayBindings, 'STORE' | 'BODIES'>>(
  bound: Bound,
  onCall: () => void,
): Bound {
  // Call the method on its stub, because a property of an RPC stub is not a real function and cannot be passed on.
  const counted = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        // `await` looks for a `then` method, which would be an RPC call.
        if (name === 'then') return undefined;
        return (...given: unknown[]) => {
          onCall();
          return (of as Record<PropertyKey, (...given: unknown[]) => unknown>)[name]!(...given);
        };
      },
    });
  const { STORE, BODIES } = bound;
  const objects = {
    idFromName: (name: string) => STORE.idFromName(name),
    get: (id: never) => counted(STORE.get(id)),
  };
  return { ...bound, STORE: objects, BODIES: counted(BODIES) };
}

export class RelayObject extends ServedObject {
  constructor(state: Given[0], env: Given[1]) {
    const shared = Object.getPrototypeOf(state.storage.sql) as Sql;
    if (exec === null) {
      const own = shared.exec;
      exec = own;
      shared.exec = function (this: Sql, ...asked: Parameters<Sql['exec']>) {
        const statement = own.apply(this, asked);
        total.written += statement.rowsWritten;
        return statement;
      } as Sql['exec'];
    }
    super(
      state,
      counting(env, () => {
        const name = state.id.name!;
        total.made[name] = (total.made[name] ?? 0) + 1;
        const now = running.getStore();
        if (now) now.calls++;
      }),
    );
  }
}

// Measure the methods that do background work, whose calls depend on the amount of data.
for (const method of ['gather', 'tidySome', 'resume'] as const) {
  const own = ServedObject.prototype[method] as (...given: unknown[]) => Promise<never>;
  RelayObject.prototype[method] = async function (this: RelayObject, ...given: unknown[]) {
    const now = { calls: 0 };
    const answer = await running.run(now, () => own.apply(this, given));
    inside[method] = Math.max(inside[method] ?? 0, now.calls);
    return answer;
  };
}

/**
 * The real Worker with counted calls. The header `X-Calls` counts the calls until the response starts. `/counted`
 * returns all counts, which include later calls. `/cron` runs the cron job.
 */
export default {
  async fetch(request: Request, bindings: RelayBindings): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/counted') return Response.json({ ...total, named, inside });
    // Create it once: requests share their write-behind only if they have the same bindings object.
    bound ??= counting(bindings, () => {
      total.calls++;
      const now = asking.getStore();
      if (!now) return;
      now.calls++;
      if (now.name !== null) named[now.name] = (named[now.name] ?? 0) + 1;
    });
    const counted = bound;
    const own = { calls: 0, name: request.headers.get('x-count-as') };
    return asking.run(own, async () => {
      if (pathname === '/cron') {
        const behind: Promise<unknown>[] = [];
        const context = { waitUntil: (work: Promise<unknown>) => void behind.push(work) };
        await worker.scheduled({} as never, counted, context as ExecutionContext);
        for (let done = 0; done < behind.length; done++) await behind[done];
        return Response.json({ calls: own.calls });
      }
      const response = await worker.fetch(request, counted);
      if (response.status === 101) return response;
      const answer = new Response(response.body, response);
      answer.headers.set('X-Calls', String(own.calls));
      return answer;
    });
  },
};
