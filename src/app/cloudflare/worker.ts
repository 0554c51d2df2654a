import { toRelayError } from '../../base/errors.ts';
import { jsonResponse } from '../../interfaces/http/responses.ts';
import { checkMoved, moveSome } from './former-object.ts';
import { FIRST_OBJECT, objectFor, TenantRouting } from './tenant-routing.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';

export { RelayObject } from './former-object.ts';
export { TenantObject } from './tenant-object.ts';

/** Path at which `scripts/cloudflare/move.ts` moves the data of an earlier version. */
const MOVE_PATH = '/cloudflare/move';

/** Passes each request to the object of its tenant. An open relay has one tenant. */
export default {
  async fetch(request: Request, bindings: RelayBindings): Promise<Response> {
    const routing = new TenantRouting(bindings.TENANTS);
    try {
      if (new URL(request.url).pathname === MOVE_PATH) return await moveSome(request, bindings, routing);
      await checkMoved(bindings, routing);
      const isOpen = workerConfig(bindings).auth === 'open';
      const object = isOpen ? FIRST_OBJECT : await objectFor(request, routing);
      return await routing.stub(object).fetch(request);
    } catch (error) {
      const refused = toRelayError(error);
      return jsonResponse(refused, { status: refused.status });
    }
  },
};
