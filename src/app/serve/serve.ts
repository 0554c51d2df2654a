import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net';
import { performance } from 'node:perf_hooks';
import { getRequestListener } from '@hono/node-server';
import { bun } from '../../base/bun.ts';
import { badRequest, RelayError } from '../../base/errors.ts';
import { CONNECTION_IDLE_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import { isLoopback } from '../../contract/pointer-url.ts';
import { createHttpApp } from '../../interfaces/http/app.ts';
import { browserPolicy, guardBrowser } from '../../interfaces/http/browser-guard.ts';
import { keyAuthenticator, openAuthenticator } from '../../interfaces/http/callers.ts';
import type { DashboardFiles } from '../../interfaces/http/dashboard.ts';
import type { AnsweredRequest, Gauge, HttpDeps } from '../../interfaces/http/deps.ts';
import { RateLimiter, type RateLimits } from '../../interfaces/http/rate-limit.ts';
import { clientAddress } from '../../interfaces/http/request-watch.ts';
import { jsonResponse } from '../../interfaces/http/responses.ts';
import { acceptRawPaths } from '../../interfaces/ws/raw-path.ts';
import { type SocketLimits, SocketServer } from '../../interfaces/ws/socket-server.ts';
import type { EngineState } from '../../kernel/engine.ts';
import { addressList, localHost } from './addresses.ts';
import { a2aProtocol, mcpProtocol, type ProtocolOptions } from './protocols.ts';

/**
 * Maximum size of all headers in bytes. A header may carry 16 KiB of metadata, which are 22 KiB in base64.
 */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_HEADERS = 200;
const TIMEOUTS = {
  /** Timeout in ms for receiving the headers of a request. */
  headersMs: 20_000,
  /** Timeout in ms for receiving a whole request, long enough for 25 MB over a slow line. */
  requestMs: 300_000,
  idleMs: CONNECTION_IDLE_MS,
  /**
   * Time in ms for which the server keeps an idle connection open. Clients close an idle connection earlier. So the
   * server never closes a connection while a request is on its way.
   */
  keepAliveMs: 65_000,
  /** Interval in ms at which Node checks `headersMs` and `requestMs`. */
  checkMs: 5_000,
} as const;
/** Idle time in ms after which the system probes whether the other end of a connection still exists. */
const TCP_KEEP_ALIVE_MS = 30_000;
const CONNECTIONS: ConnectionLimits = { total: 20_000, perAddress: 12_000 };
const SWEEP_INTERVAL_MS = 60_000;
/**
 * Time in ms between the start and the first sweep. With a long delay, a server that is killed again and again would
 * never sweep, and its disk would fill up.
 */
const FIRST_SWEEP_MS = 1_000;
const CERTIFICATE_CHECK_MS = 60_000;

export interface ServerOptions extends Omit<ProtocolOptions, 'webhooks'> {
  /**
   * Allows A2A webhooks on this machine. By default, webhooks to this machine and to its network are
   * rejected.
   */
  readonly loopbackWebhooks?: boolean;
  /** Base URL of pointers. Null to use the address to which each request was sent. */
  readonly publicUrl: string | null;
  readonly host: string;
  /** Port to listen on. 0 picks a free port. */
  readonly port: number;
  readonly allowedHosts: readonly string[];
  /** Paths of two PEM files. The files are read again when they change. */
  readonly tls?: { readonly cert: string; readonly key: string } | null;
  /** Addresses and networks of proxies whose `X-Forwarded-*` headers are trusted, such as `10.0.0.0/8`. */
  readonly trustedProxies?: readonly string[];
  readonly corsOrigins?: readonly string[];
  readonly rateLimits?: RateLimits | null;
  readonly connections?: Partial<ConnectionLimits>;
  readonly timeouts?: { readonly [name in keyof typeof TIMEOUTS]?: number };
  readonly sockets?: Partial<SocketLimits>;
  /** Files of the dashboard at `/ui` and of the pages for pointers. Without them, there are no pages. */
  readonly dashboard?: DashboardFiles;
  /** Called for every answered request. Requests then get an id, which the answer repeats. */
  observe?(seen: AnsweredRequest): void;
  /** Additional gauges for `/metrics`. */
  gauges?(): readonly Gauge[];
}

export interface RunningServer {
  /** URL with the port that is used: `http://127.0.0.1:7474`. */
  readonly url: string;
  /** Accepts no new requests and answers the open requests. Resolves when all connections are closed. */
  stop(): Promise<void>;
}

/** Starts the server and listens. The caller must close the core after the server has stopped. */
export async function startServer(o: ServerOptions): Promise<RunningServer> {
  const { core, log } = o;
  const isTrustedProxy = addressList(o.trustedProxies ?? []);
  const authenticate = (o.auth === 'keys' ? keyAuthenticator : openAuthenticator)(core.keys);
  const browsers = browserPolicy({ ...o, anyAddress: !isLoopback(o.host) });
  const stopping = new AbortController();
  let connections: Connections | null = null;
  const deps: HttpDeps = {
    ...o,
    browsers,
    authenticate,
    limiter: o.rateLimits ? new RateLimiter(o.rateLimits) : undefined,
    peerOf: (env) => (env as Bindings | undefined)?.incoming?.socket.remoteAddress ?? null,
    headerOf: (env, name) => headerOf((env as Bindings).incoming!, name),
    bodyOf: (env, length) => readBody((env as Bindings).incoming!, length),
    onGone: (env, then) => onDisconnect((env as Bindings).outgoing!, then),
    trustsProxies: (o.trustedProxies ?? []).length > 0,
    isTrustedProxy,
    addRequestId: o.observe && ((env, id) => (env as Bindings).outgoing?.setHeader(ID_HEADER, id)),
    stopping: stopping.signal,
    gauges: () => [...processGauges(connections?.open ?? 0), ...(o.gauges?.() ?? [])],
  };
  const webhooks = async () => {
    const { webhookPost } = await import('./outbound.ts');
    return webhookPost({ loopback: o.loopbackWebhooks ?? false });
  };
  const a2a = a2aProtocol({ ...o, webhooks }, stopping.signal);
  const app = createHttpApp(deps, [mcpProtocol(o, stopping.signal), a2a]);
  const guard = (request: IncomingMessage) =>
    guardBrowser(
      { method: 'GET', url: request.url ?? '/', header: (name) => headerOf(request, name) },
      browsers,
    );
  const limit = async (caller: Caller | null, request: IncomingMessage) => {
    const { address } = clientAddress(
      (name) => headerOf(request, name),
      request.socket.remoteAddress ?? null,
      isTrustedProxy,
    );
    await deps.limiter?.check(caller, address);
  };
  const sockets = new SocketServer({ ...o, guard, authenticate, limit, limits: o.sockets });
  const listener = getRequestListener(app, { hostname: o.host, errorHandler: malformed });
  const server = makeServer(o, listener);
  const upgrade: SocketServer['upgrade'] = (...args) => sockets.upgrade(...args);
  server.on('upgrade', upgrade);
  acceptRawPaths(server, upgrade);
  connections = new Connections(server, { ...CONNECTIONS, ...o.connections });
  server.listen(o.port, o.host);
  await once(server, 'listening');
  const logged = new Set<string>();
  const timers = [
    setInterval(() => sweepStore(o, logged), SWEEP_INTERVAL_MS),
    setTimeout(() => sweepStore(o, logged), FIRST_SWEEP_MS),
  ];
  if (o.tls) timers.push(renewCertificate(server as TlsServer, o.tls, log));
  for (const timer of timers) timer.unref();
  a2a.resume().catch((error) => log({ level: 'warn', event: 'a2a', error: String(error) }));
  let stopped: Promise<unknown> | null = null;
  return {
    url: urlOf(server, o),
    stop: async () => {
      for (const timer of timers) clearTimeout(timer);
      stopping.abort();
      stopped ??= Promise.all([sockets.stop(), connections.stop()]);
      await stopped;
    },
  };
}

interface Bindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
}

/**
 * Calls `then` when the client disconnects, even before the answer begins. Otherwise the HTTP adapter would
 * produce an answer that nobody reads.
 */
function onDisconnect(outgoing: ServerResponse, then: () => void): void {
  if (outgoing.destroyed) then();
  else outgoing.once('close', then);
}

/**
 * Reads a body of known length into one buffer. A Request object would copy the body twice more. Rejects if
 * the client disconnects early.
 */
function readBody(incoming: IncomingMessage, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const body = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
  let at = 0;
  return new Promise((resolve, reject) => {
    const ended = () => {
      if (at === length) resolve(body);
      else reject(incoming.errored ?? new Error('The connection was closed.'));
    };
    if (incoming.destroyed) return ended();
    incoming.on('data', (chunk: Buffer) => {
      body.set(chunk, at);
      at += chunk.length;
    });
    for (const end of ['end', 'error', 'close']) incoming.once(end, ended);
  });
}

/**
 * Returns a request header as one text. Node joins repeated headers, except Set-Cookie, which requests do not
 * have.
 */
function headerOf({ headers }: IncomingMessage, name: string): string | null {
  return (headers[name] as string | undefined) ?? null;
}

const ID_HEADER = 'Relay-Request-Id';

function makeServer(o: ServerOptions, listener: ReturnType<typeof getRequestListener>): Server {
  const timeouts = { ...TIMEOUTS, ...o.timeouts };
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: timeouts.checkMs,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
  };
  const server = o.tls
    ? createTlsServer({ ...options, ...readCertificate(o.tls), minVersion: 'TLSv1.2' }, listener)
    : createServer(options, listener);
  server.maxHeadersCount = MAX_HEADERS;
  server.setTimeout(timeouts.idleMs);
  return server;
}

function readCertificate(tls: { cert: string; key: string }): { cert: Buffer; key: Buffer } {
  const read = (path: string) => {
    try {
      return readFileSync(path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new RelayError('bad_config', { where: path, what: `it cannot be read (${code}).` });
    }
  };
  return { cert: read(tls.cert), key: read(tls.key) };
}

/** Loads the certificate again when its files change, because other programs renew it every few weeks. */
function renewCertificate(
  server: TlsServer,
  tls: { cert: string; key: string },
  log: ServerOptions['log'],
): NodeJS.Timeout {
  const stamp = () => [tls.cert, tls.key].map((path) => statSync(path).mtimeMs).join();
  let lastStamp = stamp();
  return setInterval(() => {
    try {
      const now = stamp();
      if (now === lastStamp) return;
      server.setSecureContext(readCertificate(tls));
      lastStamp = now;
      log({ level: 'info', event: 'certificate-renewed' });
    } catch (error) {
      log({ level: 'warn', event: 'certificate-not-renewed', error: String(error) });
    }
  }, CERTIFICATE_CHECK_MS);
}

let utilisationBefore = performance.eventLoopUtilization();

/** Returns gauges of the process. The event loop utilization covers the time since the last call. */
function processGauges(connections: number): Gauge[] {
  const { rss, heapUsed } = process.memoryUsage();
  const now = performance.eventLoopUtilization();
  const { utilization } = performance.eventLoopUtilization(now, utilisationBefore);
  utilisationBefore = now;
  const busy = 'Utilization of the event loop since the last scrape, 0 to 1.';
  return [
    ['relay_connections', 'Open connections.', connections],
    ['process_resident_memory_bytes', 'Resident memory of the process.', rss],
    ['nodejs_heap_size_used_bytes', 'JavaScript heap in use.', heapUsed],
    ['relay_event_loop_utilization', busy, Number(utilization.toFixed(4))],
    ['relay_uptime_seconds', 'Seconds since the server started.', Math.round(process.uptime())],
  ];
}

function sweepStore(o: ServerOptions, logged: Set<string>): void {
  o.replaced?.();
  void warnOfStore(o, logged);
  o.core.sweepStore().catch((error) => o.log({ level: 'warn', event: 'tidy-failed', error: String(error) }));
}

/** Logs each warning of the store once, and again if it disappears and comes back. */
async function warnOfStore(o: ServerOptions, logged: Set<string>): Promise<void> {
  const state: Pick<EngineState, 'warnings' | 'unseen'> = await o.core.deps.engine
    .state()
    .catch(() => ({ warnings: [] }));
  const { warnings, unseen = [] } = state;
  const logOnce = (level: 'info' | 'warn') => (message: string) =>
    logged.has(message) || o.log({ level, event: 'store', message });
  warnings.forEach(logOnce('warn'));
  unseen.forEach(logOnce('info'));
  logged.clear();
  for (const message of [...warnings, ...unseen]) logged.add(message);
}

function urlOf(server: Server, { host, tls }: ServerOptions): string {
  const { port } = server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://${localHost(host)}:${port}`;
}

/**
 * Answers a request that the HTTP adapter cannot parse, because it has no Host header or an invalid target.
 */
function malformed(error: unknown): Response {
  const refused = badRequest(`The HTTP request is malformed: ${(error as Error).message}.`);
  return jsonResponse(refused, { status: refused.status, headers: { Connection: 'close' } });
}

/**
 * Interval in ms at which a stopping server closes idle connections. A client that sends a request before the next
 * interval still gets an answer, with `Connection: close`.
 */
const DRAIN_MS = 100;
/**
 * Time in ms for running requests to end after the server began to stop. Then their connections are closed.
 */
const STOP_GRACE_MS = 10_000;

/** Maximum number of unanswered requests per connection. Clients pipeline only a few requests. */
const REQUESTS_AHEAD = 100;

interface ConnectionLimits {
  readonly total: number;
  readonly perAddress: number;
}

/**
 * Limits the connections, and the unanswered requests of each. `stop` closes all connections after answering
 * the requests that have arrived.
 */
class Connections {
  readonly #server: Server;
  readonly #byAddress = new Map<string, number>();
  /** Unfinished answers, by connection. */
  readonly #answers = new WeakMap<Socket, Set<ServerResponse>>();

  constructor(server: Server, limits: ConnectionLimits) {
    this.#server = server;
    server.maxConnections = limits.total;
    server.on('connection', (socket: Socket) => this.#count(socket, limits.perAddress));
    server.prependListener('request', ({ socket }, response) => this.#countAnswer(socket, response));
  }

  get open(): number {
    let sum = 0;
    for (const count of this.#byAddress.values()) sum += count;
    return sum;
  }

  /** Accepts no new connections and answers the open requests. Resolves when all connections are closed. */
  async stop(): Promise<void> {
    this.#server.prependListener('request', (_, response) => response.setHeader('Connection', 'close'));
    // On Node, call `close` of the TCP server: `close` of the HTTP server would also disconnect clients between two
    // requests. Bun has only `close` of the HTTP server.
    const { close } = bun ? this.#server : TcpServer.prototype;
    const closed = new Promise<void>((resolve) => close.call(this.#server, () => resolve()));
    const force = setTimeout(() => this.#server.closeAllConnections(), STOP_GRACE_MS);
    // Close idle connections only at intervals. A client that is about to send its next request can then still send
    // it and gets an answer, with `Connection: close`.
    const idle = setInterval(() => this.#server.closeIdleConnections(), DRAIN_MS);
    if (this.open === 0) this.#server.closeIdleConnections();
    await closed;
    clearInterval(idle);
    clearTimeout(force);
    // This also stops the timers of the HTTP server.
    this.#server.close();
  }

  /**
   * Counts the unfinished answers of a connection and aborts them when it ends. Node starts every request that has
   * arrived, but tells only the current answer that the connection has ended. Without an abort, the other answers
   * could follow a channel forever.
   */
  #countAnswer(socket: Socket, response: ServerResponse): void {
    let answers = this.#answers.get(socket);
    if (!answers) {
      const all = new Set<ServerResponse>();
      answers = all;
      this.#answers.set(socket, all);
      socket.once('close', () => all.forEach(abortAnswer));
    }
    answers.add(response);
    response.once('close', () => answers.delete(response));
    if (answers.size > REQUESTS_AHEAD) socket.destroy();
  }

  #count(socket: Socket, most: number): void {
    const address = socket.remoteAddress ?? '';
    const count = (this.#byAddress.get(address) ?? 0) + 1;
    if (count > most) {
      socket.destroy();
      return;
    }
    this.#byAddress.set(address, count);
    socket.once('close', () => {
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
    });
  }
}

/**
 * Aborts an answer. An answer that waits for an earlier answer has no socket yet. Without a socket, `destroy` does
 * not emit `close`, so this function emits it.
 */
function abortAnswer(answer: ServerResponse): void {
  answer.destroy();
  if (!answer.socket) answer.emit('close');
}
