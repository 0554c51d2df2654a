import type { Context } from 'hono';
import type { Caller } from '../../contract/caller.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { BrowserPolicy } from './browser-guard.ts';
import type { DashboardFiles } from './dashboard.ts';
import type { Limiter } from './rate-limit.ts';

/** Everything that the HTTP interface gets from the runtime (Node or Cloudflare). */
export interface HttpDeps {
  readonly core: RelayCore;
  readonly version: string;
  /** Base URL of pointers. Null: the address that the client used in its request. */
  readonly publicUrl: string | null;
  readonly browsers: BrowserPolicy;
  /** The dashboard's files. Absent if the runtime has none. */
  readonly dashboard?: DashboardFiles;
  /** Returns the caller of an `Authorization` header, or ANONYMOUS without one. Throws `unauthorized` for an invalid key. */
  authenticate(authorization: string | null): Caller | Promise<Caller>;
  /** Calls `then` when the client disconnects or has received the whole response. */
  onGone?(env: unknown, then: () => void): void;
  /** Aborted when the server starts to shut down. Endless streams end then. */
  readonly stopping: AbortSignal;
  /** Whether the package on disk was replaced since the server started. Files to load later may be missing. */
  replaced?(): boolean;
  /** Rate limiter. Absent if requests are not limited. */
  readonly limiter?: Limiter;
  /** Returns the IP address at the other end of the connection. `env` is what the runtime passes with a request. */
  peerOf(env: unknown): string | null;
  /** Returns a request header without creating a Headers object, which is slow. */
  headerOf(env: unknown, name: string): string | null;
  /** Reads a whole body of known length. Absent if `Request.arrayBuffer` is the fastest way. */
  bodyOf?(env: unknown, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** Maximum size of an artifact sent as JSON. By default the limit for all artifacts. */
  readonly jsonArtifactBytes?: number;
  /** Whether any trusted proxies are configured. */
  readonly trustsProxies: boolean;
  /** Whether the `X-Forwarded-*` headers of a proxy at this address are trusted. */
  isTrustedProxy(address: string): boolean;
  /** Called after each response, for logs and traces. */
  observe?(seen: AnsweredRequest): void;
  /** Adds the request id to the response. */
  addRequestId?(env: unknown, id: string): void;
  /**
   * Answers a WebSocket upgrade for a channel. Only for runtimes where upgrades arrive as requests (Cloudflare);
   * Node passes raw connections to the socket server.
   */
  socket?(c: Context, base: string): Promise<Response>;
  /** Process metrics for `GET /metrics`. Absent if there is no single process; then there are no metrics. */
  gauges?(): readonly Gauge[];
  /** Writes one log line. Must never contain a payload, a key or a URL fragment. */
  log(event: LogEvent): void;
}

/** An answered request. */
export interface AnsweredRequest {
  readonly id: string;
  readonly method: string;
  /** Name of the operation, or `other`. Never the path: it may hold a pointer, which grants access. */
  readonly operation: string;
  readonly status: number;
  /** Start of the request, in ms since the epoch. */
  readonly at: number;
  /** Time in ms until the response head was ready. */
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

export type Gauge = readonly [name: string, help: string, value: number];
