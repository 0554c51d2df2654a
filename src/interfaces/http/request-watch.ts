import type { Context, Hono } from 'hono';
import { ERRORS, isRelayError, RelayError, retrySeconds, toRelayError } from '../../base/errors.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Verb } from '../../contract/verb.ts';
import {
  addCorsHeaders,
  corsHeaders,
  guardBrowser,
  preflightResponse,
  type RequestHead,
  refusalHeaders,
} from './browser-guard.ts';
import type { Gauge, HttpDeps } from './deps.ts';
import { jsonResponse } from './responses.ts';

/** Maximum size in bytes of a request body that is read whole. For small bodies this is faster than streaming. */
export const WHOLE_BODY_BYTES = 1024 * 1024;

type Answer = Response | Promise<Response>;

/**
 * Wraps the request handler. Assigns a request id, rejects requests from foreign pages, answers preflights, adds CORS
 * headers, and records each response for logs and metrics.
 */
export function watchRequests(
  deps: HttpDeps,
  metrics: Metrics,
  next: (request: Request, notes: RequestNotes) => Answer,
): (request: Request, env: unknown) => Answer {
  const { browsers } = deps;
  return (request, env) => {
    const began = performance.now();
    const notes = new RequestNotes(request, deps, env);
    deps.addRequestId?.(env, notes.id);
    const cors = corsHeaders(notes, browsers);
    const done = (response: Response): Response => {
      if (cors) addCorsHeaders(response.headers, cors);
      report(deps, metrics, notes, response.status, performance.now() - began);
      return response;
    };
    try {
      guardBrowser(notes, browsers);
    } catch (error) {
      const readable = refusalHeaders(notes, browsers);
      const isPreflight = readable !== null && request.method === 'OPTIONS';
      const refused = isPreflight
        ? preflightResponse(notes, 0)
        : failureResponse(error, request, deps, notes);
      if (readable) addCorsHeaders(refused.headers, readable);
      return done(refused);
    }
    if (cors && request.method === 'OPTIONS') return done(preflightResponse(notes));
    const answer = next(request, notes);
    return answer instanceof Promise ? answer.then(done) : done(answer);
  };
}

/**
 * Random prefix of this server's request ids. Created at the first request, because Workers allow random
 * values only in requests.
 */
let idPrefix: string | undefined;
let requestCount = 0;

/**
 * Facts about one request, for logs, metrics and traces. Handlers get them as the environment of the router
 * (`c.env`).
 */
export class RequestNotes implements RequestHead {
  /** Id of the request, unique across servers. */
  readonly id = requestId();
  operation: Pick<Verb, 'name'> | null = null;
  caller: Caller | null = null;
  readonly #request: Request;
  readonly #deps: HttpDeps;
  readonly #env: unknown;
  #client: ClientAddress | null = null;

  constructor(request: Request, deps: HttpDeps, env: unknown) {
    this.#request = request;
    this.#deps = deps;
    this.#env = env;
  }

  get method(): string {
    return this.#request.method;
  }

  get url(): string {
    return this.#request.url;
  }

  /** Calls `then` when the client disconnects or has received the whole response. */
  onGone(then: () => void): void {
    this.#deps.onGone?.(this.#env, then);
  }

  header(name: string): string | null {
    return this.#deps.headerOf(this.#env, name);
  }

  /** Reads the whole body, which has `length` bytes. */
  async body(length: number): Promise<Uint8Array<ArrayBuffer>> {
    try {
      if (this.#deps.bodyOf) return await this.#deps.bodyOf(this.#env, length);
      return new Uint8Array(await this.#request.arrayBuffer());
    } catch (error) {
      throw new RelayError(
        'aborted',
        { what: 'the request body was cut off', hint: 'Nothing was stored. Try again.' },
        error,
      );
    }
  }

  /** Address of the client, computed on first use. */
  get client(): ClientAddress {
    const { peerOf, isTrustedProxy } = this.#deps;
    this.#client ??= clientAddress((name) => this.header(name), peerOf(this.#env), isTrustedProxy);
    return this.#client;
  }
}

function requestId(): string {
  idPrefix ??= crypto.randomUUID().slice(0, 8);
  return `${idPrefix}-${++requestCount}`;
}

/** Returns the notes of the request that a handler is serving. */
export function notesOf(c: Context): RequestNotes {
  return c.env as RequestNotes;
}

function report(deps: HttpDeps, metrics: Metrics, notes: RequestNotes, status: number, ms: number): void {
  const operation = notes.operation?.name ?? 'other';
  metrics.record(operation, status, ms);
  deps.observe?.({
    id: notes.id,
    method: notes.method,
    operation,
    status,
    at: Date.now() - ms,
    ms,
    address: notes.client.address,
    caller: notes.caller,
    traceparent: notes.header('traceparent'),
  });
}

/** Answers errors and unknown paths with errors from the error table. */
export function answerFailures(app: Hono, deps: HttpDeps): void {
  const answer = (error: unknown, c: Context) => failureResponse(error, c.req.raw, deps, notesOf(c));
  app.onError(answer);
  app.notFound((c) => {
    const { method, path } = c.req;
    const allowed = methodsAt(app, path).join(', ');
    const code = allowed === '' ? 'no_route' : 'method_not_allowed';
    return answer(new RelayError(code, { method, path: path.slice(0, 200), allowed }), c);
  });
}

/** Returns the allowed methods of a path, or none if the path does not exist. */
function methodsAt(app: Hono, path: string): string[] {
  const methods = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'].filter(
    (method) => app.router.match(method, path)[0].length > 0,
  );
  return methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

/**
 * Returns the response for an error. An error from the error table is sent unchanged. Any other error is
 * logged in full, and the client gets only a short text.
 */
function failureResponse(error: unknown, request: Request, deps: HttpDeps, notes: RequestNotes): Response {
  if (isRelayError(error)) return errorResponse(error, request);
  const { id } = notes;
  deps.log({
    level: 'error',
    event: 'unexpected',
    request: id,
    method: request.method,
    operation: notes.operation?.name ?? 'other',
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return errorResponse(toRelayError(error, deps.replaced, id), request);
}

function errorResponse(error: RelayError, request: Request): Response {
  const { code, details } = error;
  const headers: Record<string, string> = {};
  if (code === 'range_not_satisfiable') headers['Content-Range'] = `bytes */${details.size}`;
  if (code === 'method_not_allowed') headers.Allow = String(details.allowed);
  if (code === 'unauthorized') headers['WWW-Authenticate'] = 'Bearer realm="relay"';
  const seconds = retrySeconds(error);
  if (seconds !== null) headers['Retry-After'] = String(seconds);
  if (mayBeUnread(request)) headers.Connection = 'close';
  // Send 400 in place of the status 499, which is no standard. The client has usually disconnected anyway.
  const status = error.status === ERRORS.aborted.status ? 400 : error.status;
  return jsonResponse(errorBody(error), { status, headers });
}

/** Adds the numbers and the reset time of a quota as fields, so that programs need not parse the message. */
function errorBody(error: RelayError): object {
  if (error.code !== 'over_quota' && error.code !== 'over_storage') return error;
  const { plan, limit, used, reset } = error.details;
  return { ...error.toJSON(), plan, limit, used, reset };
}

/**
 * Returns whether a part of the request body may be unread. If so, the connection cannot be reused and must be
 * closed.
 */
function mayBeUnread(request: Request): boolean {
  if (request.method === 'GET' || request.method === 'HEAD') return false;
  const length = request.headers.get('content-length');
  return length === null || Number(length) > WHOLE_BODY_BYTES;
}

/** Where a request comes from, according to the connection and the headers of trusted proxies. */
interface ClientAddress {
  /** IP address of the client, behind any number of trusted proxies, or `unknown`. */
  readonly address: string;
  /** Origin of the relay as the client sees it, from the headers of a trusted proxy. Null without one. */
  readonly origin: string | null;
  /** True if the request came through a proxy, trusted or not. The connection is then the proxy's. */
  readonly proxied: boolean;
}

/**
 * Determines the client's address from proxy headers. Anyone can send these headers, so only the headers of trusted
 * proxies count.
 */
export function clientAddress(
  header: (name: string) => string | null,
  peer: string | null,
  isTrusted: (address: string) => boolean,
): ClientAddress {
  const forwarded = header('x-forwarded-for');
  const proxied = forwarded !== null || header('forwarded') !== null || header('via') !== null;
  const direct = { address: peer ?? 'unknown', origin: null, proxied };
  if (peer === null || !isTrusted(peer)) return direct;
  const hops = (forwarded ?? '')
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
  // Read the list from its end: each proxy appends an entry, and the client may have forged the first ones.
  let address = peer;
  for (let at = hops.length - 1; at >= 0 && isTrusted(address); at--) address = stripPort(hops[at]!);
  return { address, origin: forwardedOrigin(header), proxied };
}

function forwardedOrigin(header: (name: string) => string | null): string | null {
  const host = header('x-forwarded-host') ?? header('host');
  const proto = header('x-forwarded-proto');
  if (host === null || (proto !== 'http' && proto !== 'https')) return null;
  return /^[\w.-]+(:\d+)?$|^\[[0-9a-fA-F:.]+\](:\d+)?$/.test(host) ? `${proto}://${host}` : null;
}

/**
 * Removes the port from an address such as `[::1]:99` or `1.2.3.4:99`. Returns `unknown` if the text is not
 * an address.
 */
function stripPort(hop: string): string {
  const match = /^\[([0-9a-fA-F:.]+)\](?::\d+)?$|^([0-9.]+)(?::\d+)?$|^([0-9a-fA-F:.]+)$/.exec(hop);
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? 'unknown';
}

/** Upper bounds of the buckets of the duration histogram, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

interface OperationStats {
  readonly statuses: Map<number, number>;
  readonly buckets: number[];
  sum: number;
  count: number;
}

/**
 * Counts and times requests by operation and status, in Prometheus format. Labels contain no text from
 * clients.
 */
export class Metrics {
  readonly #operations = new Map<string, OperationStats>();

  record(operation: string, status: number, ms: number): void {
    let stats = this.#operations.get(operation);
    if (!stats) {
      stats = { statuses: new Map(), buckets: BUCKETS.map(() => 0), sum: 0, count: 0 };
      this.#operations.set(operation, stats);
    }
    stats.statuses.set(status, (stats.statuses.get(status) ?? 0) + 1);
    const seconds = ms / 1000;
    const at = BUCKETS.findIndex((limit) => seconds <= limit);
    if (at >= 0) stats.buckets[at]!++;
    stats.sum += seconds;
    stats.count++;
  }

  render(gauges: readonly Gauge[]): string {
    const lines: string[] = [];
    const begin = (name: string, type: string, help: string) =>
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    begin('relay_http_requests_total', 'counter', 'Requests answered, by operation and status.');
    for (const [operation, { statuses }] of this.#operations) {
      for (const [status, count] of statuses) {
        lines.push(`relay_http_requests_total{operation="${operation}",status="${status}"} ${count}`);
      }
    }
    const name = 'relay_http_request_duration_seconds';
    begin(name, 'histogram', 'Time from the request head to the response head.');
    for (const [operation, { buckets, sum, count }] of this.#operations) {
      let below = 0;
      for (const [at, limit] of BUCKETS.entries()) {
        below += buckets[at]!;
        lines.push(`${name}_bucket{operation="${operation}",le="${limit}"} ${below}`);
      }
      lines.push(`${name}_bucket{operation="${operation}",le="+Inf"} ${count}`);
      lines.push(`${name}_sum{operation="${operation}"} ${Number(sum.toFixed(6))}`);
      lines.push(`${name}_count{operation="${operation}"} ${count}`);
    }
    for (const [name, help, value] of gauges) {
      begin(name, name.endsWith('_total') ? 'counter' : 'gauge', help);
      if (typeof value === 'number') lines.push(`${name} ${value}`);
      else for (const one of value) lines.push(`${name}{${formatLabels(one.labels)}} ${one.value}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

function formatLabels(labels: { readonly [name: string]: string }): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join();
}
