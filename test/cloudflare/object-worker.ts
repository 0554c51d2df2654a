import type { ObjectCall } from '../../src/engines/cloudflare/store-object.ts';
import { type Bindings, callObject, StoreObject } from '../../src/engines/cloudflare/store-object.ts';

export { StoreObject };

/** Puts to an object what the body of a request says, as the engine would. */
export default {
  async fetch(request: Request, { STORE }: Bindings): Promise<Response> {
    const call = (await request.json()) as ObjectCall;
    return Response.json((await callObject(STORE.get(STORE.idFromName(call.object)), call)) ?? null);
  },
};
