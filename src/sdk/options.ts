import type { JsonObject } from '../base/json.ts';
import type { TokenCounter } from '../base/tokens.ts';
import type { Visibility } from '../contract/pointers.ts';
import type { Relay } from '../contract/relay.ts';

/** API groups of a relay that the client uses. */
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

/**
 * Encryption keys by channel name. Senders and subscribers of a channel share one key. The keys are never
 * sent to the relay.
 */
export type ChannelKeys =
  | { readonly [channel: string]: string }
  | ((channel: string) => string | undefined | Promise<string | undefined>);

export interface ContextRelayOptions {
  /**
   * Address of the relay. Default: the environment variable `CONTEXTRELAY_URL`, or http://127.0.0.1:7474 if
   * it is not set.
   */
  readonly baseUrl?: string;
  /**
   * API key. Default: the environment variable `CONTEXTRELAY_API_KEY`. It is sent only to the origin of the
   * relay.
   */
  readonly apiKey?: string;
  /**
   * Name of the agent that uses this client. On a relay without API keys it is the sender of what this client
   * sends. With API keys, others see it beside the name of the key. Default: `RELAY_AGENT`.
   */
  readonly agent?: string;
  /** Replacement for the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** Time in ms to wait for the start of a response and for each further chunk. Default: 60,000. */
  readonly timeout?: number;
  /** Number of retries of a request that is safe to repeat. Default: 3. */
  readonly retries?: number;
  /** Relay in the same process. The client then calls it directly instead of over HTTP. */
  readonly relay?: ClientRelay;
  /** Other base URLs of the same relay that can appear in its pointers. */
  readonly ownBases?: readonly string[];
  /** Counts the tokens of encrypted payloads, which the relay cannot read. */
  readonly counter?: TokenCounter;
  /**
   * Shared encryption keys by channel name. Clients with the same key can decrypt each other's encrypted
   * payloads on that channel.
   */
  readonly channelKeys?: ChannelKeys;
  /** Called with the error when a subscription loses its connection, and with null when it has reconnected. */
  readonly onConnection?: (lost: Error | null) => void;
}

/** Types of data that can be stored. A string is stored as UTF-8. */
export type PushData =
  | string
  | Uint8Array
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | ReadableStream<Uint8Array>;

export interface PushOptions {
  /** Channel on which the relay announces the pointer. */
  readonly channel?: string;
  /**
   * Encrypts the payload in this client. The encryption key is only in the returned URL, after `#key=`.
   * Metadata is not encrypted.
   */
  readonly encrypted?: boolean;
  /** JSON object that `peek` returns, for example a summary of the payload. */
  readonly metadata?: JsonObject;
  /** Seconds until the pointer expires. Default: one day. */
  readonly ttl?: number;
  /** How many times the payload can be pulled. Default: no limit. */
  readonly maxPulls?: number;
  /**
   * `link`: anyone with the URL can pull the payload. `tenant`: an API key of the same tenant is required. Default:
   * `tenant` on a relay with API keys, otherwise `link`.
   */
  readonly visibility?: Visibility;
  /**
   * Idempotency key. Repeated pushes with the same idempotency key and the same content create only one
   * pointer. Ciphertext differs each time, so an encrypted push with a repeated idempotency key is rejected.
   */
  readonly idempotencyKey?: string;
  /** Media type of the payload. Default: `text/plain; charset=utf-8` for a string, or the type of a Blob. */
  readonly contentType?: string;
  /** Size of a stream in bytes, if known. */
  readonly size?: number;
  /** Counts the tokens of the payload. `pushDetailed` returns the count. */
  readonly count?: boolean;
  /**
   * Maximum tokens of an excerpt: the most important lines of the payload, with their numbers. `pushDetailed`
   * returns it.
   */
  readonly excerpt?: number;
  /** Aborts the push. */
  readonly signal?: AbortSignal;
}

export interface CallOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal;
}

export interface PublishOptions extends CallOptions {
  /** Sequence number of the message in the same channel that this message answers. */
  readonly replyTo?: number;
  /**
   * Idempotency key. Repeated calls with the same idempotency key and the same message publish the message
   * once.
   */
  readonly idempotencyKey?: string;
}

export interface PullBytesOptions extends CallOptions {
  /** Byte range to return. `end` is exclusive. */
  readonly range?: { readonly start: number; readonly end: number };
}

const LOCAL_RELAY = 'http://127.0.0.1:7474';

/**
 * Returns the base URL, the API key and the name of the agent. Missing values come from the environment. `CONTEXTRELAY_API_KEY`
 * belongs to `CONTEXTRELAY_URL`: if the caller passes a base URL with another origin, the API key from the
 * environment is not used.
 */
export function connection(options: Pick<ContextRelayOptions, 'baseUrl' | 'apiKey' | 'agent'>): {
  baseUrl: string;
  apiKey: string | undefined;
  agent: string | undefined;
} {
  const agent = options.agent ?? variable('RELAY_AGENT');
  const url = variable('CONTEXTRELAY_URL');
  const baseUrl = options.baseUrl ?? url ?? LOCAL_RELAY;
  if (options.apiKey !== undefined) return { baseUrl, apiKey: options.apiKey, agent };
  const elsewhere = url !== undefined && originOf(url) !== originOf(baseUrl);
  return { baseUrl, apiKey: elsewhere ? undefined : variable('CONTEXTRELAY_API_KEY'), agent };
}

/** Returns the origin of a URL, or null if the text is not a URL. */
export function originOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null;
}

function variable(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    // Deno throws if the user does not allow access to the environment.
    return undefined;
  }
}
