import type { Caller } from '../../contract/caller.ts';
import type { Verb } from '../../contract/verb.ts';
import type { ClientAddress } from './client-address.ts';

/** What became known of a request on its way, for the log, the metrics and the traces. */
export interface RequestNotes {
  /** Found out when it is first asked for. */
  readonly client: ClientAddress;
  operation: Pick<Verb, 'name'> | null;
  caller: Caller | null;
  /** Different for every request of every server that runs. */
  readonly id: string;
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

/** They travel beside the request, in the environment that the router hands to every handler. */
export interface Noted {
  readonly notes: RequestNotes;
}
