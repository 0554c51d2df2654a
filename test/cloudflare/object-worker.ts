import type { ObjectCall } from '../../src/engines/cloudflare/store-object.ts';
import { type Bindings, callObject, StoreObject } from '../../src/engines/cloudflare/store-object.ts';

export { StoreObject };

/** Makes the object call in the body of a request, as the engine does. */
export default {
  async fetch(request: Request, { STORE }: Bindings): Promise<Response> {
    const call = (await request.json()) as ObjectCall;
    return Response.json((await callObject(STORE.get(STORE.idFromName(call.object)), call)) ?? null);
  },
};
