import type { Context } from 'hono';
import type { Caller } from '../../contract/caller.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { BrowserPolicy } from './browser-guard.ts';
import type { DashboardFiles } from './dashboard.ts';
import type { Limiter } from './rate-limit.ts';

/** Everything that the runtime (Node or Cloudflare) passes to the HTTP interface. */
export interface HttpDeps {
  readonly core: RelayCore;
  readonly version: string;
  /** Base URL of pointers. Null means the address that the client used in its request. */
  readonly publicUrl: string | null;
  readonly browsers: BrowserPolicy;
  /** The files of the dashboard. Absent if the runtime has none. */
  readonly dashboard?: DashboardFiles;
  /**
   * Returns the caller of an `Authorization` header. Without the header, the caller is ANONYMOUS. Throws
   * `unauthorized` for an invalid API key.
   */
  authenticate(authorization: string | null): Caller | Promise<Caller>;
  /** Calls `then` when the client disconnects or has received the whole response. */
  onGone?(env: unknown, then: () => void): void;
  /** Aborted when the server starts to shut down. Endless streams end then. */
  readonly stopping: AbortSignal;
  /**
   * Returns whether the package on disk was replaced since the server started. Code that is loaded from then
   * on may be missing.
   */
  replaced?(): boolean;
  /** Rate limiter. Absent if requests are not limited. */
  readonly limiter?: Limiter;
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
   * Answers a WebSocket upgrade for a channel. On Cloudflare, upgrades arrive as requests. On Node this is
   * absent, because the socket server gets the raw connections.
   */
  socket?(c: Context, base: string): Promise<Response>;
  /**
   * Returns process metrics for `GET /metrics`. It is absent if the relay is not one process. Then the route
   * `GET /metrics` does not exist.
   */
  gauges?(): readonly Gauge[];
  /** Writes one log line. A log line must never contain a payload, an API key or a URL fragment. */
  log(event: LogEvent): void;
}

/** An answered request. */
export interface AnsweredRequest {
  readonly id: string;
  readonly method: string;
  /**
   * Name of the operation, or `other`. It is never the path, because the path may contain a pointer, which
   * grants access.
   */
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

/** A metric. The name of a counter ends with `_total`. The value may be split by labels. */
export type Gauge = readonly [
  name: string,
  help: string,
  value: number | readonly { readonly labels: { readonly [name: string]: string }; readonly value: number }[],
];
