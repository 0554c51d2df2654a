import { type Context, Hono } from 'hono';
import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { isAnonymous, isRelayAdmin } from '../../contract/caller.ts';
import { type UsageReport, usage } from '../../contract/keys.ts';
import { isLoopback } from '../../contract/pointer-url.ts';
import type { Protocol } from '../protocol.ts';
import { isLoopbackHost } from './browser-guard.ts';
import { authenticateProtocol, baseOf, createServe, type Serve } from './callers.ts';
import { dashboardRoutes } from './dashboard.ts';
import type { Gauge, HttpDeps } from './deps.ts';
import { endOnRevocation, eventRoutes } from './events.ts';
import { fileRoutes } from './files.ts';
import { openApiDocument } from './openapi.ts';
import { operationRoutes } from './operation-routes.ts';
import { OPERATIONS } from './operations.ts';
import { pointerRoutes } from './pointers.ts';
import { answerFailures, Metrics, notesOf, watchRequests } from './request-watch.ts';
import { jsonResponse, SECURITY_HEADERS, textResponse } from './responses.ts';
import { threadRoutes } from './threads.ts';

/** Creates the HTTP interface. `env` is the value that the runtime passes with each request. */
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
  // This is not a Hono middleware, because a middleware would add a chain of promises to every request.
  return watchRequests(deps, metrics, (request, notes) => app.fetch(request, notes));
}

function routes(deps: HttpDeps, metrics: Metrics): Hono {
  const app = new Hono({ strict: false });
  app.get('/', () => textResponse('ContextRelay API is running.'));
  const probe = storeProbe(deps);
  app.get('/health', () => health(deps, probe));
  app.get('/ready', () => ready(deps, probe));
  app.get('/version', () => jsonResponse({ version: deps.version }));
  app.get('/openapi.json', () => jsonResponse(openApiDocument(OPERATIONS, deps.version)));
  dashboardRoutes(app, deps.dashboard);
  app.get('/metrics', (c) => metricsResponse(c, deps, metrics, probe));

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

/**
 * Answers `GET /health`: whether the server can read and write its store. A full store counts as ok, with
 * `writable: false`.
 */
async function health(deps: HttpDeps, probe: StoreProbe): Promise<Response> {
  const full = await probe();
  return jsonResponse({
    ...{ status: 'ok', version: deps.version },
    ...(full ? { writable: false } : {}),
    ...restartNote(deps),
  });
}

/**
 * Answers `GET /ready`, which tells a load balancer whether to send traffic. The server is not ready while it
 * is stopping. With a full store it is ready, because people must still be able to read and delete.
 */
async function ready(deps: HttpDeps, probe: StoreProbe): Promise<Response> {
  if (deps.stopping.aborted) return jsonResponse({ status: 'stopping' }, { status: 503 });
  const full = await probe();
  const state = await deps.core.deps.engine.state();
  const isReported = full === null || state.warnings.some((warning) => warning.includes('no room left'));
  const warnings = isReported ? state.warnings : [`${full.message} ${full.hint}`, ...state.warnings];
  return jsonResponse({
    status: 'ready',
    ...(full ? { writable: false } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
    ...restartNote(deps),
  });
}

function restartNote(deps: HttpDeps): { restart?: string } {
  return deps.replaced?.()
    ? { restart: 'The package was replaced while the server was running. Restart the server.' }
    : {};
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Answers `GET /metrics`. Only admins of the relay may read the metrics, and clients on the same machine that
 * do not come through a proxy.
 */
async function metricsResponse(
  c: Context,
  deps: HttpDeps,
  metrics: Metrics,
  probe: StoreProbe,
): Promise<Response> {
  if (!deps.gauges) {
    throw new RelayError('no_route', {
      method: 'GET',
      path: '/metrics',
      hint: 'This relay does not run as one process, so it has no metrics. See the metrics of its platform, and GET /usage.',
    });
  }
  const client = notesOf(c).client;
  const host = c.req.header('host') ?? null;
  const isLocal = !client.proxied && isLoopback(client.address) && isLoopbackHost(host);
  if (!isLocal) {
    const caller = await deps.authenticate(c.req.header('authorization') ?? null);
    if (isAnonymous(caller)) throw new RelayError('unauthorized');
    if (!isRelayAdmin(caller))
      throw new RelayError('forbidden', { what: 'Only admins of the relay may read metrics.' });
  }
  const { blobs, records, entries, diskBytes, quota } = await deps.core.deps.engine.usage();
  const full = await probe();
  const gauges: Gauge[] = [
    ['relay_store_payloads', 'Payloads in the store.', blobs.count],
    ['relay_store_payload_bytes', 'Bytes of all payloads.', blobs.bytes],
    ['relay_store_records', 'Records in the store.', records],
    ['relay_store_entries', 'Entries in all logs.', entries],
    ['relay_store_disk_bytes', 'Size of the store on disk, in bytes.', diskBytes],
    ['relay_store_writable', '1 if the store accepts writes, 0 if it is full.', full ? 0 : 1],
  ];
  if (quota)
    gauges.push(
      ['relay_store_quota_bytes', 'Storage limit of the store in bytes, for all copies.', quota.limitBytes],
      ['relay_store_quota_used_bytes', 'Bytes counted against the storage limit.', quota.usedBytes],
    );
  gauges.push(...deps.gauges());
  return textResponse(metrics.render(gauges), { 'Content-Type': METRICS_TYPE });
}

/** Answers `GET /usage` as JSON or CSV. */
function usageRoutes(serve: Serve): void {
  serve(usage.get, async (relay, c) => {
    const { month, tenant, format } = c.req.query();
    if (format !== undefined && format !== 'json' && format !== 'csv')
      throw badRequest('"format" must be "json" or "csv".');
    const report = await relay.usage.get({ month, tenant });
    const csv = format === 'csv' || (c.req.header('accept') ?? '').includes('text/csv');
    if (!csv) return jsonResponse(report);
    return textResponse(usageTable(report), {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="usage-${report.tenant}-${report.month}.csv"`,
    });
  });
}

/**
 * Renders CSV. No field needs quoting: all fields are ids, dates and numbers, without commas, quotes or
 * formulas.
 */
function usageTable({ tenant, rows }: UsageReport): string {
  const lines = rows.map((row) => [row.day, tenant, row.key, row.operation, row.count, row.bytes].join(','));
  return ['day,tenant,key,operation,count,bytes', ...lines, ''].join('\r\n');
}

type StoreProbe = () => Promise<RelayError | null>;

/**
 * Time in ms for which a successful test write is trusted, so that the next one can be skipped. A write costs
 * an fsync, and anybody may call /health.
 */
const WRITE_PROBE_MS = 5_000;

/**
 * Returns a function that tests whether the store can be read (each time) and written (every few seconds).
 * The function returns null if both work. If the store is full, it returns the `store_full` error, because a
 * full store still serves reads and deletes. If the store is closed, damaged or not writable, it throws
 * `store_unavailable` with the message of the store.
 */
function storeProbe(deps: Pick<HttpDeps, 'core'>): StoreProbe {
  let written = Number.NEGATIVE_INFINITY;
  let writing: { readonly records: object; readonly done: Promise<void> } | null = null;
  return async () => {
    try {
      // List records instead of reading one. A single record may come from the cache.
      const { records } = deps.core.deps.engine;
      await records.list('sys/', { limit: 1 });
      if (performance.now() - written >= WRITE_PROBE_MS) {
        // Concurrent probes of the same store share one test write.
        if (writing?.records !== records) {
          const done = records.put('sys/health', null).then(() => {
            written = performance.now();
          });
          writing = { records, done };
        }
        await writing.done.finally(() => {
          writing = null;
        });
      }
      return null;
    } catch (error) {
      if (isRelayError(error, 'store_full')) return error;
      if (!isRelayError(error) || error.code === 'store_unavailable') throw error;
      throw new RelayError('store_unavailable', { what: error.message, hint: error.hint }, error);
    }
  };
}
