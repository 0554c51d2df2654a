import type { Caller } from '../../domain/caller.ts';
import type { House } from '../../domain/house.ts';

/** What the HTTP interface is given by the app. */
export interface HttpDeps {
  readonly house: House;
  readonly version: string;
  /** Where pointers say they can be reached; null: where the request came in. */
  readonly publicUrl: string | null;
  /** Host names beside loopback and the public URL that requests may be addressed to. */
  readonly allowedHosts: readonly string[];
  /** Who is asking; throws `unauthorized`. */
  authenticate(request: Request): Caller | Promise<Caller>;
  /** Fires when the server is told to stop: streams that would go on for ever end then. */
  readonly stopping?: AbortSignal;
  /** One line per thing worth knowing; never a payload, a key or a fragment. */
  log(event: LogEvent): void;
}

export interface LogEvent {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly [field: string]: unknown;
}
