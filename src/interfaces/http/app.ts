import { Hono } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { openApiDocument } from '../../schemas/openapi.ts';
import { OPERATIONS } from '../../schemas/operations.ts';
import { relayMaker } from './callers.ts';
import type { HttpDeps } from './deps.ts';
import { eventRoutes } from './events-stream.ts';
import { failureResponse } from './failures.ts';
import { Metrics } from './metrics.ts';
import { metricsResponse } from './metrics-route.ts';
import { operationRoutes } from './operation-routes.ts';
import { pointerRoutes } from './pointers.ts';
import { type Noted, notesOf } from './request-notes.ts';
import { watchOver } from './request-watch.ts';
import { jsonResponse, textResponse } from './responses.ts';
import { threadRoutes } from './threads.ts';
import { usageRoutes } from './usage.ts';

export interface HttpApp {
  /** `env` is what the runtime passes along with a request. */
  fetch(request: Request, env?: unknown): Response | Promise<Response>;
}

/** Protocols of their own on the same port, behind the same guard. */
export interface Beside {
  fetch(request: Request, env: Noted): Response | Promise<Response>;
}

/** Where the other protocols live. Everything else goes to the routes of the table without a detour. */
const BESIDE = /^https?:\/\/[^/]+\/(?:mcp|a2a|\.well-known\/agent-card\.json)(?:[/?]|$)/;

/** The whole HTTP interface. The same app runs on Node and on Workers. */
export function createHttpApp(deps: HttpDeps, beside?: Beside): HttpApp {
  const metrics = new Metrics();
  const app = routes(deps, metrics);
  const next = (request: Request, env: Noted) =>
    beside && BESIDE.test(request.url) ? beside.fetch(request, env) : app.fetch(request, env);
  // What every request passes stands here and not in a middleware, which would make each a chain of promises.
  return { fetch: watchOver(deps, metrics, next) };
}

function routes(deps: HttpDeps, metrics: Metrics): Hono {
  const app = new Hono({ strict: false });
  app.get('/', () => textResponse('ContextRelay API is running.'));
  app.get('/health', () => health(deps));
  app.get('/ready', () => ready(deps));
  app.get('/version', () => jsonResponse({ version: deps.version }));
  app.get('/openapi.json', () => jsonResponse(openApiDocument(OPERATIONS, deps.version)));
  app.get('/metrics', (c) => metricsResponse(c, deps, metrics));

  const relayOf = relayMaker(deps);
  const api = new Hono({ strict: false });
  pointerRoutes(api, relayOf);
  eventRoutes(api, relayOf, deps.stopping, deps.house.keys.holds);
  threadRoutes(api, relayOf, deps.stopping, deps.house.keys.holds);
  usageRoutes(api, relayOf);
  operationRoutes(api, OPERATIONS, relayOf);
  app.route('/', api);
  app.route('/v1', api);

  app.notFound((c) => {
    const { method, path } = c.req;
    return failureResponse(
      new RelayError('no_route', { method, path: path.slice(0, 200) }),
      c.req.raw,
      deps,
      notesOf(c),
    );
  });
  app.onError((error, c) => failureResponse(error, c.req.raw, deps, notesOf(c)));
  return app;
}

/** Says that it is well only after the store has answered. */
async function health(deps: HttpDeps): Promise<Response> {
  await deps.house.ground.engine.records.get('sys/health');
  return jsonResponse({ status: 'ok', version: deps.version });
}

/** Whether to send traffic here: not while it is stopping, though it still answers. */
async function ready(deps: HttpDeps): Promise<Response> {
  if (deps.stopping?.aborted) return jsonResponse({ status: 'stopping' }, { status: 503 });
  await deps.house.ground.engine.records.get('sys/health');
  return jsonResponse({ status: 'ready' });
}
