import type { DurableObjectState } from '@cloudflare/workers-types';

export { RelayObject } from '../../src/app/cloudflare/worker.ts';

import worker, { TenantObject as ServedObject } from '../../src/app/cloudflare/worker.ts';
import type { RelayBindings } from '../../src/app/cloudflare/worker-config.ts';

type Sql = DurableObjectState['storage']['sql'];

/** Totals since the start: calls to objects, calls to the bucket, and written rows. */
const total = { calls: 0, bucket: 0, written: 0 };
let exec: Sql['exec'] | null = null;

/** Wraps bindings so that each call of an object or the bucket is counted. */
function counting(bindings: RelayBindings): RelayBindings {
  // Call the method on its stub, because a property of an RPC stub is not a real function and cannot be passed on.
  const counted = <T extends object>(target: T, figure: 'calls' | 'bucket'): T =>
    new Proxy(target, {
      get(of, name) {
        // `await` looks for a `then` method, which would be an RPC call.
        if (name === 'then') return undefined;
        return (...given: unknown[]) => {
          total[figure]++;
          return (of as Record<PropertyKey, (...given: unknown[]) => unknown>)[name]!(...given);
        };
      },
    });
  const { TENANTS, BODIES } = bindings;
  const objects = {
    idFromName: (name: string) => TENANTS.idFromName(name),
    get: (id: never) => counted(TENANTS.get(id), 'calls'),
  };
  return { ...bindings, TENANTS: objects, BODIES: counted(BODIES, 'bucket') };
}

export class TenantObject extends ServedObject {
  constructor(state: DurableObjectState, bindings: RelayBindings) {
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
    super(state, counting(bindings));
  }
}

/** The real Worker with counted calls and rows. `/counted` returns the totals. */
export default {
  fetch(request: Request, bindings: RelayBindings): Promise<Response> | Response {
    if (new URL(request.url).pathname === '/counted') return Response.json(total);
    return worker.fetch(request, counting(bindings));
  },
};
