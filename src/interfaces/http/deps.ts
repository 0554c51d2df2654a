import type { Context } from 'hono';
import type { Caller } from '../../contract/caller.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { BrowserPolicy } from './browser-guard.ts';
import type { DashboardFiles } from './dashboard.ts';
import type { Limiter } from './rate-limit.ts';

/** What the HTTP interface is given by the app. */
export interface HttpDeps {
  readonly core: RelayCore;
  readonly version: string;
  /** Where pointers say they can be reached; null: where the request came in. */
  readonly publicUrl: string | null;
  readonly browsers: BrowserPolicy;
  /** Absent where the runtime has no pages to show. */
  readonly dashboard?: DashboardFiles;
  /** Who sends that header; ANONYMOUS where nobody says so, and throws `unauthorized` for a key that is no good. */
  authenticate(authorization: string | null): Caller | Promise<Caller>;
  /** Calls `then` once the client of a request has left or has its whole answer. */
  onGone?(env: unknown, then: () => void): void;
  /** Fires when the server is told to stop: streams that would go on for ever end then. */
  readonly stopping: AbortSignal;
  /** Whether the program was replaced on the disk since it started, so that parts of it may be gone. */
  replaced?(): boolean;
  /** Absent where nobody is held back. */
  readonly limiter?: Limiter;
  /** The address at the other end of the connection, from what the runtime passes along with a request. */
  peerOf(env: unknown): string | null;
  /** A header of the request, without having a Headers object made. */
  headerOf(env: unknown, name: string): string | null;
  /** The body of a request whose length is known, in one piece; absent where the request itself is the best at that. */
  bodyOf?(env: unknown, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /** The largest content of an artifact that comes in JSON; as large as any by default. */
  readonly jsonArtifactBytes?: number;
  /** Whether there are any proxies to believe. */
  readonly trustsProxies: boolean;
  /** Whether to believe what the machine at this address says about whom it asks for. */
  isTrustedProxy(address: string): boolean;
  /** Called for every request that was answered. */
  observe?(seen: RequestSeen): void;
  /** Puts the request's id into its answer. */
  tellId?(env: unknown, id: string): void;
  /**
   * Answers a request for a WebSocket on a channel, where the runtime has these come as requests; absent where it hands
   * connections over.
   */
  socket?(c: Context, base: string): Promise<Response>;
  /** What the runtime can tell about itself, for the metrics; absent where there is no process to measure, and no metrics. */
  gauges?(): readonly Gauge[];
  /** One line per thing worth knowing; never a payload, a key or a fragment. */
  log(event: LogEvent): void;
}

/** A request that has been answered. */
export interface RequestSeen {
  readonly id: string;
  readonly method: string;
  /** The operation's name, or `other`: never the path, which may be a capability. */
  readonly operation: string;
  readonly status: number;
  /** When it began, in ms since the epoch, and how long it took to the head of the answer. */
  readonly at: number;
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
