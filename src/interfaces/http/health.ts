import type { Context, Hono } from 'hono';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { isAnonymous, isRelayAdmin } from '../../contract/caller.ts';
import { isLoopback } from '../../contract/pointer-url.ts';
import { isLoopbackHost } from './browser-guard.ts';
import type { Gauge, HttpDeps } from './deps.ts';
import { type Metrics, notesOf } from './request-watch.ts';
import { jsonResponse, textResponse } from './responses.ts';

type Usage = Awaited<ReturnType<HttpDeps['core']['deps']['engine']['usage']>>;

/** Time in ms after which `/ready` answers that the store does not respond. */
const READY_MS = 2_000;
/**
 * Maximum time in ms that a scrape waits for new figures of the store. After that, the scrape gets the last figures.
 */
const SCRAPE_MS = 15;
/** Minimum time in ms between two counts of the store for `/metrics`. */
const COUNT_EVERY_MS = 15_000;
/**
 * Time in ms for which a successful test write is trusted. A write costs an fsync, and anybody may call
 * /ready.
 */
const WRITE_PROBE_MS = 5_000;

/** Adds the routes for load balancers and monitoring: `/health`, `/ready` and `/metrics`. */
export function healthRoutes(app: Hono, deps: HttpDeps, metrics: Metrics): void {
  const probe = storeProbe(deps);
  const storeGauges = storeGaugeReader(deps, probe);
  // `/health` says only that the process answers. It does not ask the store.
  app.get('/health', () => jsonResponse({ status: 'ok', version: deps.version, ...restartNote(deps) }));
  app.get('/ready', () => ready(deps, probe));
  app.get('/metrics', (c) => metricsResponse(c, deps, metrics, storeGauges));
}

/**
 * Answers `GET /ready`, which tells a load balancer whether to send traffic. A stopping server, or one whose
 * store does not answer, is not ready. A full store is ready, because people must be able to read and delete.
 */
async function ready(deps: HttpDeps, probe: StoreProbe): Promise<Response> {
  if (deps.stopping.aborted)
    return jsonResponse({ status: 'stopping' }, { status: 503, headers: { 'Retry-After': '1' } });
  const check = Promise.all([probe(), deps.core.deps.engine.state()]);
  const answer = await withinMs(READY_MS, check);
  if (answer === null)
    throw new RelayError('store_unavailable', {
      what: `It did not answer within ${READY_MS / 1000} seconds.`,
    });
  const [full, state] = answer;
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

/** Returns the result of `work`, or null after `ms`. Ignores a late failure. */
async function withinMs<T>(ms: number, work: Promise<T>): Promise<T | null> {
  const timeout = new AbortController();
  work.catch(() => {});
  try {
    return await Promise.race([work, pause(ms, timeout.signal).then(() => null)]);
  } finally {
    timeout.abort();
  }
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Answers `GET /metrics`, for admins of the relay and for clients on this machine that connect without a
 * proxy.
 */
async function metricsResponse(
  c: Context,
  deps: HttpDeps,
  metrics: Metrics,
  storeGauges: () => Promise<Gauge[]>,
): Promise<Response> {
  if (!deps.gauges) {
    throw new RelayError('no_route', {
      method: 'GET',
      path: '/metrics',
      hint: "A relay on Cloudflare Workers has no /metrics. Use Cloudflare's metrics, and GET /usage.",
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
  const text = metrics.render([...(await storeGauges()), ...deps.gauges()]);
  return textResponse(text, { 'Content-Type': METRICS_TYPE });
}

/**
 * Returns a function that reads the gauges of the store. Counting a large store takes seconds, so it runs in
 * the background, and a scrape gets the last finished count with its age. If the store does not answer, one
 * gauge says so, and the others are still returned.
 */
function storeGaugeReader(deps: HttpDeps, probe: StoreProbe): () => Promise<Gauge[]> {
  let usage: Usage | null = null;
  let countedAt = Number.NEGATIVE_INFINITY;
  let checking: Promise<void> | null = null;
  let [isUp, isWritable] = [1, 1];
  const check = async () => {
    try {
      isWritable = (await probe()) ? 0 : 1;
      isUp = 1;
      if (performance.now() - countedAt < COUNT_EVERY_MS) return;
      usage = await deps.core.deps.engine.usage();
      countedAt = performance.now();
    } catch {
      // Do not report the error: the gauge `relay_store_up` becomes 0, and `/ready` shows the reason.
      [isUp, isWritable] = [0, 0];
    } finally {
      checking = null;
    }
  };
  return async () => {
    checking ??= check();
    await withinMs(SCRAPE_MS, checking);
    const gauges: Gauge[] = [
      ['relay_store_up', '1 if the store answered the last check, otherwise 0.', isUp],
      [
        'relay_store_writable',
        '1 if the store accepts writes, 0 if it is full or does not answer.',
        isWritable,
      ],
    ];
    return usage ? [...gauges, ...usageGauges(usage, performance.now() - countedAt)] : gauges;
  };
}

function usageGauges(usage: Usage, ageMs: number): Gauge[] {
  const { blobs, records, entries, diskBytes, quota, figures = [] } = usage;
  const gauges: Gauge[] = [
    ['relay_store_payloads', 'Payloads in the store.', blobs.count],
    ['relay_store_payload_bytes', 'Bytes of all payloads.', blobs.bytes],
    ['relay_store_records', 'Records in the store.', records],
    ['relay_store_entries', 'Entries in all logs.', entries],
    ['relay_store_disk_bytes', 'Size of the store on disk, in bytes.', diskBytes],
    ['relay_store_counted_seconds', 'Age of the figures of the store, in seconds.', Math.round(ageMs / 1000)],
  ];
  if (quota)
    gauges.push(
      ['relay_store_quota_bytes', 'Storage limit of the store in bytes, for all copies.', quota.limitBytes],
      ['relay_store_quota_used_bytes', 'Bytes counted against the storage limit.', quota.usedBytes],
    );
  return [...gauges, ...figures];
}

type StoreProbe = () => Promise<RelayError | null>;

/**
 * Returns a function that tests the store: it always reads, and writes every few seconds. It returns null if the store
 * works. If the store is full, it returns the error `store_full` and does not throw it, because a full store still
 * serves reads and deletes. It throws `store_unavailable` if the store is closed, damaged or not writable.
 */
function storeProbe(deps: Pick<HttpDeps, 'core'>): StoreProbe {
  let written = Number.NEGATIVE_INFINITY;
  let writing: { readonly records: object; readonly done: Promise<void> } | null = null;
  return async () => {
    try {
      // List records: a single record may come from the cache, without the store.
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
