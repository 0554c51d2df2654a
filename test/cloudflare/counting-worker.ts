import worker, { RelayObject as ServedObject } from '../../src/app/cloudflare/worker.ts';
import type { RelayBindings } from '../../src/app/cloudflare/worker-config.ts';

type Given = ConstructorParameters<typeof ServedObject>;
type Sql = Given[0]['storage']['sql'];

/** Since the start. A statement has written when it comes back. */
const total = { calls: 0, written: 0 };
let exec: Sql['exec'] | null = null;

export class RelayObject extends ServedObject {
  constructor(...given: Given) {
    const shared = Object.getPrototypeOf(given[0].storage.sql) as Sql;
    if (exec === null) {
      const own = shared.exec;
      exec = own;
      shared.exec = function (this: Sql, ...asked: Parameters<Sql['exec']>) {
        const statement = own.apply(this, asked);
        total.written += statement.rowsWritten;
        return statement;
      } as Sql['exec'];
    }
    super(...given);
  }
}

/**
 * The Worker as it is, with the calls that it makes for a request counted in a header of the answer, and at `/counted` what was counted
 * since the start, also behind answers.
 */
export default {
  async fetch(request: Request, bindings: RelayBindings): Promise<Response> {
    if (new URL(request.url).pathname === '/counted') return Response.json(total);
    let calls = 0;
    // Called by its name: what an object elsewhere gives for a name is no function that could be passed around.
    const counting = <T extends object>(target: T): T =>
      new Proxy(target, {
        get:
          (of, name) =>
          (...given: unknown[]) => {
            calls++;
            total.calls++;
            return (of as Record<PropertyKey, (...given: unknown[]) => unknown>)[name]!(...given);
          },
      });
    const { STORE, BODIES } = bindings;
    const objects = {
      idFromName: (name: string) => STORE.idFromName(name),
      get: (id: never) => counting(STORE.get(id)),
    };
    const response = await worker.fetch(request, { ...bindings, STORE: objects, BODIES: counting(BODIES) });
    if (response.status === 101) return response;
    const answer = new Response(response.body, response);
    answer.headers.set('X-Calls', String(calls));
    return answer;
  },
};
