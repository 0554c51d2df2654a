import { Hono } from 'hono';
import { badRequest } from '../../base/errors.ts';
import { type UsageReport, usage } from '../../contract/keys.ts';
import type { Protocol } from '../protocol.ts';
import { answerRoutes } from './answer-page.ts';
import { authenticateProtocol, baseOf, createServe, type Serve } from './callers.ts';
import { dashboardRoutes } from './dashboard.ts';
import type { HttpDeps } from './deps.ts';
import { endOnRevocation, eventRoutes } from './events.ts';
import { fileRoutes } from './files.ts';
import { healthRoutes } from './health.ts';
import { openApiDocument } from './openapi.ts';
import { operationRoutes } from './operation-routes.ts';
import { OPERATIONS } from './operations.ts';
import { pointerRoutes } from './pointers.ts';
import { answerFailures, Metrics, watchRequests } from './request-watch.ts';
import { jsonResponse, SECURITY_HEADERS, textResponse } from './responses.ts';
import { threadRoutes } from './threads.ts';

/** Creates the HTTP interface. The runtime passes `env` with each request. */
export function createHttpApp(
  deps: HttpDeps,
  protocols: readonly Protocol[],
): (request: Request, env: unknown) => Response | Promise<Response> {
  const metrics = new Metrics();
  const app = routes(deps, metrics);
  for (const { routes, answer } of protocols) {
    for (const [method, path] of routes) {
      app.on(method, path, async (c) => {
        const response = await answer(c, () => authenticateProtocol(deps, c), baseOf(deps, c));
        const ending = endOnRevocation(c, deps, response);
        for (const [name, value] of Object.entries(SECURITY_HEADERS)) ending.headers.set(name, value);
        return ending;
      });
    }
  }
  // Not a Hono middleware: that would add a chain of promises to every request.
  return watchRequests(deps, metrics, app.fetch);
}

function routes(deps: HttpDeps, metrics: Metrics): Hono {
  const app = new Hono({ strict: false });
  app.get('/', () => textResponse('ContextRelay API is running.'));
  healthRoutes(app, deps, metrics);
  app.get('/version', () => jsonResponse({ version: deps.version }));
  app.get('/openapi.json', () => jsonResponse(openApiDocument(OPERATIONS, deps.version)));
  dashboardRoutes(app, deps.dashboard);
  answerRoutes(app, deps);

  const api = new Hono({ strict: false });
  const serve = createServe(api, deps);
  if (deps.socket) {
    api.get('/ws/*', (c, next) =>
      c.req.header('upgrade')?.toLowerCase() === 'websocket' ? deps.socket!(c, baseOf(deps, c)) : next(),
    );
  }
  pointerRoutes(serve, deps);
  eventRoutes(serve, deps);
  threadRoutes(serve, deps);
  fileRoutes(serve);
  usageRoutes(serve);
  operationRoutes(serve, OPERATIONS);
  app.route('/', api);
  app.route('/v1', api);
  answerFailures(app, deps);
  return app;
}

/** Answers `GET /usage` as JSON or CSV. */
function usageRoutes(serve: Serve): void {
  serve(usage.get, async (relay, c) => {
    const { month, tenant, format, store } = c.req.query();
    if (format !== undefined && format !== 'json' && format !== 'csv')
      throw badRequest('"format" must be "json" or "csv".');
    const report = await relay.usage.get({ month, tenant, store: store === '1' });
    const csv = format === 'csv' || (c.req.header('accept') ?? '').includes('text/csv');
    if (!csv) return jsonResponse(report);
    return textResponse(usageTable(report), {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="usage-${report.tenant}-${report.month}.csv"`,
    });
  });
}

/** Renders CSV. No field needs quoting: all are ids, dates and numbers. */
function usageTable({ tenant, rows }: UsageReport): string {
  const lines = rows.map((row) => [row.day, tenant, row.key, row.operation, row.count, row.bytes].join(','));
  return ['day,tenant,key,operation,count,bytes', ...lines, ''].join('\r\n');
}
