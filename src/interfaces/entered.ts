import type { Caller, CallerAt } from '../contract/caller.ts';
import type { Relay } from '../contract/relay.ts';

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
