import type { Context } from 'hono';
import type { Caller } from '../../contract/caller.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { BrowserPolicy } from './browser-guard.ts';
import type { DashboardFiles } from './dashboard.ts';
import type { RateLimiter } from './rate-limit.ts';

/** What the runtime (Node or Cloudflare) passes to the HTTP interface. */
export interface HttpDeps {
  readonly core: RelayCore;
  readonly version: string;
  /** Base URL of pointers. Null to use the address to which the client sent its request. */
  readonly publicUrl: string | null;
  readonly browsers: BrowserPolicy;
  /** Files of the dashboard. Absent if the runtime has none. */
  readonly dashboard?: DashboardFiles;
  /**
   * Returns the caller for an `Authorization` header, or ANONYMOUS without one. Throws `unauthorized` for an
   * invalid API key.
   */
  authenticate(authorization: string | null): Caller | Promise<Caller>;
  /** Calls `then` when the client disconnects or has received the whole response. */
  onGone?(env: unknown, then: () => void): void;
  /** Aborted when the server starts to stop. Endless streams end then. */
  readonly stopping: AbortSignal;
  /**
   * Returns whether the package on disk was replaced since the server started. Code that is not loaded yet
   * may then be missing.
   */
  replaced?(): boolean;
  /** Rate limiter. Absent if requests are not limited. */
  readonly limiter?: RateLimiter;
  /**
   * Returns the IP address at the other end of the connection. `env` is the value that the runtime passes
   * with a request.
   */
  peerOf(env: unknown): string | null;
  /** Returns a request header without creating a Headers object, which is slow. */
  headerOf(env: unknown, name: string): string | null;
  /** Reads a whole body of known length. Absent if `Request.arrayBuffer` is the fastest way. */
  bodyOf?(env: unknown, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Maximum size in bytes of an artifact that is sent as JSON. Default: the maximum size of any artifact. */
  readonly jsonArtifactBytes?: number;
  /** True if trusted proxies are configured. */
  readonly trustsProxies: boolean;
  /** Returns whether the `X-Forwarded-*` headers of a proxy at this address are trusted. */
  isTrustedProxy(address: string): boolean;
  /** Called after each response, for logs and traces. */
  observe?(seen: AnsweredRequest): void;
  /** Adds the request id to the response. */
  addRequestId?(env: unknown, id: string): void;
  /**
   * Answers a WebSocket upgrade for a channel on Cloudflare, where upgrades are requests. Absent on Node,
   * where the socket server gets the raw connections.
   */
  socket?(c: Context, base: string): Promise<Response>;
  /**
   * Returns process metrics for `GET /metrics`. Absent if the relay is not one process; then the route does
   * not exist.
   */
  gauges?(): readonly Gauge[];
  /** Writes one log line. A log line must never contain a payload, an API key or a URL fragment. */
  log(event: LogEvent): void;
}

/** An answered request. */
export interface AnsweredRequest {
  readonly id: string;
  readonly method: string;
  /** Name of the operation, or `other`. Never the path, which may contain a pointer and so grant access. */
  readonly operation: string;
  readonly status: number;
  /** Time when the request started, in ms since 1970. */
  readonly at: number;
  /** Time in ms until the status and headers of the response were ready. */
  readonly ms: number;
  readonly address: string;
  readonly caller: Caller | null;
  readonly traceparent: string | null;
}

export interface LogEvent {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly [field: string]: unknown;
}

/** A metric: name, help text and value, or values by label. The name of a counter ends with `_total`. */
export type Gauge = readonly [
  name: string,
  help: string,
  value: number | readonly { readonly labels: { readonly [name: string]: string }; readonly value: number }[],
];
