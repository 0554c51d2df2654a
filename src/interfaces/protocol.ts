import type { Context } from 'hono';
import type { Caller, CallerAt } from '../contract/caller.ts';
import type { Relay } from '../contract/relay.ts';

/** A protocol of its own on the same port, behind the same guard. */
export interface Protocol {
  /** In Hono's syntax; the method may be `ALL`. */
  readonly routes: readonly (readonly [method: string, path: string])[];
  /** `base` is where the relay is, as whoever sent the request reaches it. */
  answer(c: Context, enter: Enter, base: string): Promise<Response>;
}

/** Who sent a request of a protocol with verbs of its own, and the relay as they see it. */
export interface Entered {
  readonly caller: Caller;
  readonly relay: Relay;
  /** What pointers begin with, as whoever sent the request can reach them. */
  readonly base: string;
  /** Told what is read of texts for whoever sent it, by what does not go through the relay. */
  readonly onRead?: CallerAt['onRead'];
}

/** Asked for once the protocol knows that it needs to; throws `unauthorized`. */
export type Enter = () => Promise<Entered>;
