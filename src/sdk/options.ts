import type { JsonObject } from '../base/json.ts';
import type { TokenCounter } from '../base/tokens.ts';
import type { Visibility } from '../contract/pointers.ts';
import type { Relay } from '../contract/relay.ts';

/** The parts of a relay that a client works with. */
export type ClientRelay = Pick<
  Relay,
  | 'pointers'
  | 'channels'
  | 'inbox'
  | 'receipts'
  | 'threads'
  | 'capabilities'
  | 'files'
  | 'tasks'
  | 'agents'
  | 'keys'
>;

/** Keys that sender and subscribers of a channel share, by channel. They never leave this side. */
export type ChannelKeys =
  | { readonly [channel: string]: string }
  | ((channel: string) => string | undefined | Promise<string | undefined>);

export interface ContextRelayOptions {
  /** Where the relay is; else `CONTEXTRELAY_URL`, else the one on this machine, http://127.0.0.1:7474. */
  readonly baseUrl?: string;
  /** Else `CONTEXTRELAY_API_KEY`. Sent to the relay's own origin and to no other. */
  readonly apiKey?: string;
  readonly fetch?: typeof fetch;
  /** How long to wait for an answer to begin, and then for each next piece of it; in ms, 60 000 by default. */
  readonly timeout?: number;
  /** How often to try again what can be repeated; 3 by default. */
  readonly retries?: number;
  /** Works on this relay instead of one behind HTTP. */
  readonly relay?: ClientRelay;
  /** Other addresses of the same relay, as they stand in its pointers. */
  readonly ownBases?: readonly string[];
  /** Counts what only this side can read: encrypted payloads. */
  readonly counter?: TokenCounter;
  /** Keys shared with others on a channel: what is pushed there encrypted, they can pull, and what they push, we can. */
  readonly channelKeys?: ChannelKeys;
  /** Told when a subscription has lost its connection, with the reason, and when it is back, with null. */
  readonly onConnection?: (lost: Error | null) => void;
}

export type PushData =
  | string
  | Uint8Array
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | ReadableStream<Uint8Array>;

export interface PushOptions {
  /** Announces the pointer there. */
  readonly channel?: string;
  /** Encrypts on this side; the key is behind `#key=` in the URL and nowhere else. Metadata stays readable for everybody. */
  readonly encrypted?: boolean;
  readonly metadata?: JsonObject;
  /** Seconds until it expires; a day by default. */
  readonly ttl?: number;
  readonly maxPulls?: number;
  /** Whether the URL alone is enough to pull it, or a key of the same tenant is needed. */
  readonly visibility?: Visibility;
  /**
   * The same key with the same content makes one pointer, however often it is pushed. What is encrypted is never the same
   * twice: there a repeated key is refused.
   */
  readonly idempotencyKey?: string;
  readonly contentType?: string;
  /** Bytes of a stream, where they are known ahead. */
  readonly size?: number;
  /** Counts the tokens, for the detailed answer. */
  readonly count?: boolean;
  readonly signal?: AbortSignal;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface PublishOptions extends CallOptions {
  /** The same key with the same signal makes one message, however often it is sent. */
  readonly idempotencyKey?: string;
}

export interface PullBytesOptions extends CallOptions {
  /** `end` is exclusive. */
  readonly range?: { readonly start: number; readonly end: number };
}

const LOCAL_RELAY = 'http://127.0.0.1:7474';

/**
 * The two variables, where there is an environment. A key in it belongs to the address in it: another address in the code is
 * not given that key.
 */
export function connection(o: Pick<ContextRelayOptions, 'baseUrl' | 'apiKey'>): {
  baseUrl: string;
  apiKey: string | undefined;
} {
  const url = variable('CONTEXTRELAY_URL');
  const baseUrl = o.baseUrl ?? url ?? LOCAL_RELAY;
  if (o.apiKey !== undefined) return { baseUrl, apiKey: o.apiKey };
  const elsewhere = url !== undefined && originOf(url) !== originOf(baseUrl);
  return { baseUrl, apiKey: elsewhere ? undefined : variable('CONTEXTRELAY_API_KEY') };
}

export function originOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

function variable(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    // Some runtimes ask before they show the environment, and may refuse.
    return undefined;
  }
}
