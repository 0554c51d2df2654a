import type { Env } from '../../base/env.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import type { Relay } from '../../contract/relay.ts';
import type { Verb } from '../../contract/verb.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';

/**
 * What tools work at. At this end of a pipe (`local`) the desk may encrypt, decrypt and ask other relays; behind HTTP it
 * does none of that: a key would have travelled to the server, and a URL would make the server fetch what it is told.
 */
export interface Desk {
  readonly local: boolean;
  readonly env: Env;
  readonly counter: TokenCounter;
  /** The most tokens a pull may answer with. */
  readonly budget: number;
  /** Opens it with the first tool that needs it: a server that was only started costs nothing. */
  open(): Promise<OpenDesk>;
  /** Whether whoever asks may do this at all; on which channels is asked when it is done. */
  may(verb: Verb): boolean;
  /** The brief of the project the client works in; only where the desk is local. */
  brief?(about: string | undefined): Promise<string>;
}

export interface OpenDesk {
  readonly client: ContextRelay;
  readonly relay: Relay;
  /** The same pointer as the client takes it; throws for one that must not be asked for from here. */
  resolve(url: string): Promise<string>;
}
