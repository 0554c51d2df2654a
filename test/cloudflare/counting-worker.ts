import worker, { RelayObject } from '../../src/app/cloudflare/worker.ts';
import type { RelayBindings } from '../../src/app/cloudflare/worker-config.ts';

export { RelayObject };

/** The Worker as it is, with the calls that it makes for a request counted in a header of the answer. */
export default {
  async fetch(request: Request, bindings: RelayBindings): Promise<Response> {
    let calls = 0;
    // Called by its name: what an object elsewhere gives for a name is no function that could be passed around.
    const counting = <T extends object>(target: T): T =>
      new Proxy(target, {
        get:
          (of, name) =>
          (...given: unknown[]) => {
            calls++;
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
