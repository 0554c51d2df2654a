import type { Context, Hono } from 'hono';
import type { Caller } from '../domain/caller.ts';
import type { House } from '../domain/house.ts';
import type { Relay } from '../domain/relay.ts';

/** Adds another protocol to the port. `enter` says who sent a request; it throws `unauthorized`. */
export type Mount = (app: Hono, enter: Enter) => void;

export type Enter = (c: Context) => Promise<Entered>;

export interface Entered {
  readonly caller: Caller;
  readonly relay: Relay;
  /** What pointers begin with, as whoever sent the request can reach them. */
  readonly base: string;
}

export function entrance(o: {
  readonly house: House;
  readonly publicUrl: string | null;
  authenticate(request: Request): Caller | Promise<Caller>;
}): Enter {
  return async (c) => {
    const base = o.publicUrl ?? new URL(c.req.url).origin;
    const caller = await o.authenticate(c.req.raw);
    return { caller, base, relay: o.house.relay(caller, base) };
  };
}
