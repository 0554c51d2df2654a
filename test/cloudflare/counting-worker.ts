import worker, { RelayObject as ServedObject } from '../../src/app/cloudflare/worker.ts';
import type { RelayBindings } from '../../src/app/cloudflare/worker-config.ts';

type Given = ConstructorParameters<typeof ServedObject>;
type Sql = Given[0]['storage']['sql'];

/** Since the start; `made` are calls of each object to others. A statement has written when it comes back. */
const total = { calls: 0, written: 0, made: {} as { [object: string]: number } };
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
    const [state, bindings] = given;
    const name = state.id.name!;
    const made = () => {
      total.made[name] = (total.made[name] ?? 0) + 1;
    };
    super(state, { ...bindings, STORE: objectsCounted(bindings.STORE, made) });
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
    const made = () => {
      calls++;
      total.calls++;
    };
    const STORE = objectsCounted(bindings.STORE, made);
    const BODIES = counted(bindings.BODIES, made);
    const response = await worker.fetch(request, { ...bindings, STORE, BODIES });
    if (response.status === 101) return response;
    const answer = new Response(response.body, response);
    answer.headers.set('X-Calls', String(calls));
    return answer;
  },
};

function objectsCounted(objects: RelayBindings['STORE'], made: () => void): RelayBindings['STORE'] {
  return { idFromName: (name) => objects.idFromName(name), get: (id) => counted(objects.get(id), made) };
}

/** Called by its name: what an object elsewhere gives for a name is no function that could be passed around. */
function counted<T extends object>(target: T, made: () => void): T {
  return new Proxy(target, {
    get:
      (of, name) =>
      (...given: unknown[]) => {
        made();
        return (of as Record<PropertyKey, (...given: unknown[]) => unknown>)[name]!(...given);
      },
  });
}
