import { type Context, Hono } from 'hono';
import { RelayError } from '../../base/errors.ts';
import type { Caller } from '../../domain/caller.ts';
import type { Relay } from '../../domain/relay.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import { browserGuard } from './browser-guard.ts';
import type { HttpDeps } from './deps.ts';
import { eventRoutes } from './events-stream.ts';
import { failureResponse } from './failures.ts';
import { operationRoutes } from './operation-routes.ts';
import { pointerRoutes } from './pointers.ts';
import { jsonResponse, textResponse } from './responses.ts';
import { threadRoutes } from './threads.ts';

export interface HttpApp {
  fetch(request: Request): Response | Promise<Response>;
}

/** The whole HTTP interface. The same app runs on Node and on Workers. */
export function createHttpApp(deps: HttpDeps): HttpApp {
  const app = routes(deps);
  const guard = browserGuard(deps);
  return {
    // What every request passes stands here and not in a middleware, which would make each a chain of promises.
    fetch(request) {
      try {
        guard(request);
      } catch (error) {
        return failureResponse(error, request, deps);
      }
      return app.fetch(request);
    },
  };
}

function routes(deps: HttpDeps): Hono {
  const app = new Hono({ strict: false });
  app.get('/', () => textResponse('ContextRelay API is running.'));
  app.get('/health', () => health(deps));
  app.get('/version', () => jsonResponse({ version: deps.version }));

  const relayOf = relayMaker(deps);
  const api = new Hono({ strict: false });
  pointerRoutes(api, relayOf);
  eventRoutes(api, relayOf, deps.stopping);
  threadRoutes(api, relayOf, deps.stopping);
  operationRoutes(api, OPERATIONS, relayOf);
  app.route('/', api);
  app.route('/v1', api);

  app.notFound((c) => {
    const { method, path } = c.req;
    return failureResponse(new RelayError('no_route', { method, path: path.slice(0, 200) }), c.req.raw, deps);
  });
  app.onError((error, c) => failureResponse(error, c.req.raw, deps));
  return app;
}

/** Says that it is well only after the store has answered. */
async function health(deps: HttpDeps): Promise<Response> {
  await deps.house.ground.engine.records.get('sys/health');
  return jsonResponse({ status: 'ok', version: deps.version });
}

/** The relay as the caller of a request sees it. In open mode it is the same one over and over. */
function relayMaker(deps: HttpDeps): (c: Context) => Promise<Relay> | Relay {
  let last: { caller: Caller; base: string; relay: Relay } | null = null;
  const make = (caller: Caller, base: string) => {
    if (last?.caller !== caller || last.base !== base)
      last = { caller, base, relay: deps.house.relay(caller, base) };
    return last.relay;
  };
  return (c) => {
    const base = deps.publicUrl ?? originOf(c.req.url);
    const caller = deps.authenticate(c.req.raw);
    return caller instanceof Promise ? caller.then((known) => make(known, base)) : make(caller, base);
  };
}

function originOf(url: string): string {
  return url.slice(0, url.indexOf('/', url.indexOf('//') + 2));
}
