import { setFlagsFromString } from 'node:v8';
import { isRelayError, RelayError } from '../../base/errors.ts';
import type { ServeOptions, Serving } from '../../interfaces/cli/host.ts';
import type { AnsweredRequest, Gauge } from '../../interfaces/http/deps.ts';
import type { Config } from '../config.ts';
import { maskPassword } from '../option-readers.ts';
import { packageVersion, watchPackage } from '../own-package.ts';
import { openCore } from '../store/open-core.ts';
import type { StoreChecks } from '../store/open-engine.ts';
import { exposedAs, ownHosts } from './addresses.ts';
import { ownDashboard } from './dashboard-files.ts';
import { startMetering, TraceExporter } from './operator-reports.ts';
import { claimServer, releaseServer, type ServerRecord } from './pid-file.ts';
import { type RunningServer, type ServerOptions, startServer } from './serve.ts';
import { flushLog, limitLog, logEvent, logRequest } from './server-log.ts';

/**
 * V8 flag that keeps the young generation of the heap small: many concurrent requests would let it grow to 48
 * MB, and it never shrinks. The flag saves memory for thousands of idle sockets and does not slow requests down.
 */
const V8_FLAGS = '--semi-space-growth-factor=1';

/** Serves the store of a home in this process until the caller stops it. */
export async function serveHome(config: Config, o: ServeOptions, auth: 'open' | 'keys'): Promise<Serving> {
  setFlagsFromString(V8_FLAGS);
  const traces = config.otlp_endpoint === null ? null : new TraceExporter(config.otlp_endpoint, logEvent);
  const options = serverOptions(config, o, auth, traces);
  if (config.logFile !== null) limitLog(config.logFile);
  const folders = o.projects ?? config.projects;
  const projects =
    folders.length > 0
      ? (await import('../projects/dashboard-projects.ts')).dashboardProjects(folders)
      : undefined;
  const { core, engine, checks, ...opened } = await openCore(config, 'server', {
    auth,
    exposed: auth === 'open' && exposedAs(config, o) !== null,
    projects,
    warn: (what) => logEvent({ level: 'warn', event: 'store', message: what }),
  });
  const stopMetering = startMetering(core, config, logEvent);
  const version = packageVersion();
  let server: RunningServer | null = null;
  const end = async () => {
    try {
      await server?.stop();
      releaseServer(config.home, process.pid);
    } finally {
      await opened[Symbol.asyncDispose]();
      await stopMetering();
      await traces?.flush();
      flushLog();
    }
  };
  try {
    const departure = await engine.moving?.moveStatus();
    if (departure?.ms === null) throw new RelayError('store_moved', { to: departure.to });
    const gauges = () => scrubGauges(checks);
    server = await startServer({ ...options, core, version, gauges, dashboard: ownDashboard() });
    const { url } = server;
    const isFull = claimOnFullDisk(() => claimHome(config, { url, version, auth }), opened.freeReserve);
    const { promise: stopped, resolve, reject } = Promise.withResolvers<void>();
    return { url, isFull, stopped, stop: () => void end().then(resolve, reject) };
  } catch (error) {
    // Ignore errors of the cleanup: the user needs the first error.
    await end().catch(() => {});
    throw listenError(error, o);
  }
}

/** Returns gauges for verified and damaged payloads. */
function scrubGauges(checks: StoreChecks): Gauge[] {
  const { bodies = 0, bytes = 0, rounds = 0, damaged = 0 } = checks.scrubState() ?? {};
  return [
    ['relay_scrub_bodies', 'Payloads that the server has read and verified since it started.', bodies],
    ['relay_scrub_bytes', 'Bytes of payloads that the server has read and verified since it started.', bytes],
    ['relay_scrub_rounds', 'How often the server has verified all payloads since it started.', rounds],
    [
      'relay_scrub_damaged',
      'Payloads that were damaged at the last verification; relay doctor --deep lists them.',
      damaged,
    ],
  ];
}

/**
 * Registers the server with `claim`. On a full disk, frees the space that the store reserves and tries again.
 * If that fails too, the server runs without a pid file, and commands find it only by its address. Returns
 * whether the disk was full.
 */
function claimOnFullDisk(claim: () => void, freeReserve = () => {}): boolean {
  for (const makeRoom of [null, freeReserve]) {
    try {
      makeRoom?.();
      claim();
      return makeRoom !== null;
    } catch (error) {
      if (!isRelayError(error, 'store_full')) throw error;
    }
  }
  const message =
    'The disk is full, so this server could not write its pid file. relay status and relay down cannot find it.';
  logEvent({ level: 'warn', event: 'store', message });
  return true;
}

function claimHome(
  { home, logFile, engine: address }: Config,
  { url, version, auth }: Pick<ServerRecord, 'url' | 'version' | 'auth'>,
): void {
  const started_at = new Date().toISOString();
  const engine = address && maskPassword(address);
  const record = { pid: process.pid, url, version, started_at, log: logFile, auth, engine };
  const other = claimServer(home, record);
  if (other === null) return;
  throw new RelayError('failed', {
    what: `A relay already serves this home: ${other.url} (pid ${other.pid}).`,
    hint: 'Stop it with: relay down. Or start this one with another home: --home DIR',
  });
}

/** Combines the configuration and the command line into the server's options. */
function serverOptions(
  config: Config,
  o: ServeOptions,
  auth: 'open' | 'keys',
  traces: TraceExporter | null,
): Omit<ServerOptions, 'core' | 'version'> {
  const guarded = auth === 'keys' || exposedAs(config, o) !== null;
  const logged = config.log_requests ?? auth === 'keys';
  const rateLimits = {
    perKey: config.rate_limit_key || Number.POSITIVE_INFINITY,
    perAddress: config.rate_limit_address || Number.POSITIVE_INFINITY,
    perTenant: config.rate_limit_tenant || Number.POSITIVE_INFINITY,
  };
  const observe = (seen: AnsweredRequest) => {
    if (logged) logRequest(seen);
    traces?.add(seen);
  };
  return {
    host: o.host,
    port: o.port,
    auth,
    publicUrl: o.publicUrl ?? config.public_url,
    allowedHosts: [...config.allowed_hosts, ...ownHosts(o.host)],
    tls: tlsOf(config, o),
    trustedProxies: o.trustProxy ?? config.trusted_proxies,
    loopbackWebhooks: o.loopbackWebhooks ?? config.loopback_webhooks,
    corsOrigins: config.cors_origins,
    rateLimits: guarded ? rateLimits : null,
    connections: { total: config.max_connections },
    log: logEvent,
    replaced: watchPackage(() =>
      logEvent({
        level: 'warn',
        event: 'package-replaced',
        hint: 'Restart the server: relay down, relay up.',
      }),
    ),
    ...(logged || traces ? { observe } : {}),
  };
}

function tlsOf(config: Config, o: ServeOptions): { cert: string; key: string } | null {
  const cert = o.tlsCert ?? config.tls_cert;
  const key = o.tlsKey ?? config.tls_key;
  if (cert === null && key === null) return null;
  if (cert !== null && key !== null) return { cert, key };
  throw new RelayError('bad_usage', {
    what: `TLS needs a certificate and its key; the ${cert === null ? 'certificate' : 'key'} is missing.`,
    hint: 'Pass both: --tls-cert cert.pem --tls-key key.pem',
  });
}

function listenError(error: unknown, { host, port }: ServeOptions): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') return new RelayError('port_taken', { host, port, by: '' }, error);
  if (code === 'EACCES')
    return new RelayError('failed', {
      what: `You have no permission to listen on port ${port}.`,
      hint: 'Use a port from 1024 up, such as: relay up --port 7474',
    });
  if (code !== 'EADDRNOTAVAIL' && code !== 'ENOTFOUND') return error;
  return new RelayError('failed', {
    what: `${host} is not an address of this machine.`,
    hint: 'Use 127.0.0.1 to accept connections from this machine only, or 0.0.0.0 to listen on all addresses.',
  });
}
