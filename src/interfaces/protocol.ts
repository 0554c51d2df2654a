import type { Context } from 'hono';
import type { Caller, CallerAt } from '../contract/caller.ts';
import type { Relay } from '../contract/relay.ts';

/** Another protocol on the HTTP port, such as MCP or A2A. Its requests pass the same browser guard. */
export interface Protocol {
  /** Routes in Hono's syntax. The method may be `ALL`. */
  readonly routes: readonly (readonly [method: string, path: string])[];
  /** Answers a request. `base` is the relay's URL as the client sees it. */
  answer(c: Context, authenticate: Authenticate, base: string): Promise<Response>;
}

/** The authenticated caller of a request, and the relay with the caller's rights. */
export interface CallerContext {
  readonly caller: Caller;
  readonly relay: Relay;
  /** The relay's URL as the client sees it. Pointer URLs begin with it. */
  readonly base: string;
  /**
   * Called with the number of bytes that the protocol reads for the caller without `relay`, for the rate
   * limit.
   */
  readonly onRead?: CallerAt['onRead'];
}

/** Authenticates the client of a request. Throws `unauthorized` if this fails. */
export type Authenticate = () => Promise<CallerContext>;
