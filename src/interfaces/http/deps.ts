import type { Context, Hono } from 'hono';
import type { Caller } from '../../domain/caller.ts';
import type { House } from '../../domain/house.ts';
import type { Relay } from '../../domain/relay.ts';

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
  /** Other protocols on the same port. */
  readonly mounts?: readonly Mount[];
  /** One line per thing worth knowing; never a payload, a key or a fragment. */
  log(event: LogEvent): void;
}

/** Adds the routes of a protocol. `enter` says who sent a request; it throws `unauthorized`. */
export type Mount = (app: Hono, enter: (c: Context) => Promise<Entered>) => void;

export interface Entered {
  readonly caller: Caller;
  readonly relay: Relay;
  /** What pointers begin with, as whoever sent the request can reach them. */
  readonly base: string;
}

export interface LogEvent {
  readonly level: 'info' | 'warn' | 'error';
  readonly event: string;
  readonly [field: string]: unknown;
}
