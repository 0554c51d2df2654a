import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@cloudflare/workers-types';
import worker, { RelayObject as ServedObject } from '../../src/app/cloudflare/worker.ts';
import type { RelayBindings } from '../../src/app/cloudflare/worker-config.ts';

type Given = ConstructorParameters<typeof ServedObject>;
type Sql = Given[0]['storage']['sql'];

/** Since the start; `made` are calls of each object to others. A statement has written when it comes back. */
const total = { calls: 0, written: 0, made: {} as { [object: string]: number } };
/** By the name that a request gave itself: what was called for it, also behind its answer and while its stream was open. */
const named: Record<string, number> = {};
/** The most that one call of an object made of its own, by its method. */
const inside: Record<string, number> = {};
const running = new AsyncLocalStorage<{ calls: number }>();
/** The request for which calls are made. */
const asking = new AsyncLocalStorage<{ calls: number; readonly name: string | null }>();
let exec: Sql['exec'] | null = null;
let bound: RelayBindings | null = null;

/** The same bindings, where each call is told. */
function counting<Bound extends Pick<RelayBindings, 'STORE' | 'BODIES'>>(
  bound: Bound,
  tell: () => void,
): Bound {
  // Called by its name: what an object elsewhere gives for a name is no function that could be passed around.
  const counted = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        // Nothing to wait for.
        if (name === 'then') return undefined;
        return (...given: unknown[]) => {
          tell();
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

/** What a Worker has objects do for it. */
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
 * The Worker as it is, with its calls counted: those for a request until its answer began in a header of that, and all of them at
 * `/counted`, also those behind answers. `/cron` does what the platform does every minute.
 */
export default {
  async fetch(request: Request, bindings: RelayBindings): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/counted') return Response.json({ ...total, named, inside });
    // Made once: what requests write behind they write together, as long as they have the same bindings.
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
