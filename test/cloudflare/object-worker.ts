import type { ObjectCall } from '../../src/engines/cloudflare/store-object.ts';
import { type Bindings, callObject, StoreObject } from '../../src/engines/cloudflare/store-object.ts';

export { StoreObject };

/** The body of a request is an object call as JSON. Makes the call as the engine does, and returns the result. */
export default {
  async fetch(request: Request, { STORE }: Bindings): Promise<Response> {
    const call = (await request.json()) as ObjectCall;
    return Response.json((await callObject(STORE.get(STORE.idFromName(call.object)), call)) ?? null);
  },
};
