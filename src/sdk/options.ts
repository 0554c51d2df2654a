import { nearest } from '../base/did-you-mean.ts';
import { badRequest } from '../base/errors.ts';
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
  | 'questions'
  | 'tasks'
  | 'agents'
  | 'keys'
>;

/**
 * Encryption keys by channel name. Senders and subscribers of a channel share one key. The keys are never sent to the
 * relay.
 */
export type ChannelKeys =
  | { readonly [channel: string]: string }
  | ((channel: string) => string | undefined | Promise<string | undefined>);

export interface ContextRelayOptions {
  /** Address of the relay. Default: the environment variable `CONTEXTRELAY_URL`, otherwise http://127.0.0.1:7474. */
  readonly baseUrl?: string;
  /**
   * API key. Default: the environment variable `CONTEXTRELAY_API_KEY`. It is sent only to the origin of the relay.
   */
  readonly apiKey?: string;
  /**
   * Name of the agent that uses this client; `RELAY_AGENT` by default. On a relay without API keys, pushes
   * and messages have this name as their sender. With API keys, others see it next to the name of the key.
   */
  readonly agent?: string;
  /** Replacement for the global `fetch`. */
  readonly fetch?: typeof fetch;
  /**
   * Maximum time of a call in ms, including its retries; 60,000 by default. An upload gets one more second per 128
   * KB. A response above 1 MiB may take longer, but fails after this time without progress. Subscriptions and streams
   * have no timeout.
   */
  readonly timeout?: number;
  /** Number of retries of a request that is safe to repeat. Default: 3. */
  readonly retries?: number;
  /** Relay in the same process, which the client calls directly instead of over HTTP. */
  readonly relay?: ClientRelay;
  /** Other base URLs of the same relay. Pointers may contain them. */
  readonly ownBases?: readonly string[];
  /** Counts the tokens of encrypted payloads, which the relay cannot read. */
  readonly counter?: TokenCounter;
  /**
   * Shared encryption keys by channel name. Clients that share the key of a channel can decrypt each other's
   * encrypted payloads there.
   */
  readonly channelKeys?: ChannelKeys;
  /** Called with the error when a subscription loses its connection, and with null when it has reconnected. */
  readonly onConnection?: (lost: Error | null) => void;
  /** Called after each HTTP request, including those that are then retried, for logs and metrics. */
  readonly onRequest?: (report: RequestReport) => void;
}

/** Report of one HTTP request. */
export interface RequestReport {
  /** Name of the operation, for example `push` or `files.list`. */
  readonly operation: string;
  readonly method: string;
  /**
   * Path without the query. It may contain the id of a pointer, with which others may be able to pull the
   * payload.
   */
  readonly path: string;
  /** 0 for the first request of a call, 1 for its first retry. */
  readonly attempt: number;
  /** Duration in ms. */
  readonly ms: number;
  /** HTTP status, if an answer was read. */
  readonly status?: number;
  /** Reason why the request failed. Undefined if it did not fail. */
  readonly error?: Error;
}

const OPTION_NAMES = {
  baseUrl: 1,
  apiKey: 1,
  agent: 1,
  fetch: 1,
  timeout: 1,
  retries: 1,
  relay: 1,
  ownBases: 1,
  counter: 1,
  channelKeys: 1,
  onConnection: 1,
  onRequest: 1,
} satisfies Record<keyof ContextRelayOptions, 1>;

/** Returns the options of a client. A string is the address of the relay. Throws for an unknown option. */
export function toOptions(optionsOrUrl: ContextRelayOptions | string): ContextRelayOptions {
  const options = typeof optionsOrUrl === 'string' ? { baseUrl: optionsOrUrl } : optionsOrUrl;
  refuseUnknown(options, OPTION_NAMES);
  return options;
}

/** Throws if the options contain a name that does not exist, such as `max_pulls` instead of `maxPulls`. */
export function refuseUnknown(options: object, allowed: { readonly [name: string]: 1 }): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(allowed, name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, Object.keys(allowed));
  throw badRequest(
    `There is no option "${unknown}".`,
    meant ? `Use "${meant}".` : `The options are ${Object.keys(allowed).join(', ')}.`,
  );
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
   * True to encrypt the payload in this client. The key is only in the returned URL, after `#key=`. Metadata is not
   * encrypted.
   */
  readonly encrypted?: boolean;
  /** JSON object that `peek` returns, for example a summary of the payload. */
  readonly metadata?: JsonObject;
  /** Seconds until the pointer expires. Default: one day. */
  readonly ttl?: number;
  /** Maximum number of pulls of the payload. Default: no limit. */
  readonly maxPulls?: number;
  /**
   * `link`: anyone with the URL can pull the payload. `tenant`: only API keys of the tenant can. Default: `tenant` on
   * a relay with API keys, otherwise `link`.
   */
  readonly visibility?: Visibility;
  /**
   * Idempotency key. Repeated pushes of equal content with this key create only one pointer. An encrypted push cannot
   * be repeated with it, because the ciphertext differs each time.
   */
  readonly idempotencyKey?: string;
  /** Media type of the payload. Default: `text/plain; charset=utf-8` for a string, or the type of a Blob. */
  readonly contentType?: string;
  /** Size of a stream in bytes, if known. */
  readonly size?: number;
  /** True to count the tokens of the payload. `pushDetailed` returns the count. */
  readonly count?: boolean;
  /**
   * Maximum number of tokens of an excerpt. An excerpt has the most important lines of the payload, with
   * their line numbers. `pushDetailed` returns it.
   */
  readonly excerpt?: number;
  /** Aborts the push. */
  readonly signal?: AbortSignal;
}

export const PUSH_OPTION_NAMES = {
  channel: 1,
  encrypted: 1,
  metadata: 1,
  ttl: 1,
  maxPulls: 1,
  visibility: 1,
  idempotencyKey: 1,
  contentType: 1,
  size: 1,
  count: 1,
  excerpt: 1,
  signal: 1,
} satisfies Record<keyof PushOptions, 1>;

export interface CallOptions {
  /** Aborts the call. */
  readonly signal?: AbortSignal;
}

export interface PublishOptions extends CallOptions {
  /** Delay in seconds, at most 30 days. The relay sends the message at most a minute after the delay. */
  readonly after?: number;
  /** Sequence number of the message that this message answers. Both are in the same channel. */
  readonly replyTo?: number;
  /** Idempotency key. Repeated calls with this key and an equal message publish the message once. */
  readonly idempotencyKey?: string;
}

export interface PullBytesOptions extends CallOptions {
  /** Byte range to return. `end` is exclusive. */
  readonly range?: { readonly start: number; readonly end: number };
}

const LOCAL_RELAY = 'http://127.0.0.1:7474';

/**
 * Returns the base URL, the API key and the name of the agent. Missing values come from the environment.
 * `CONTEXTRELAY_API_KEY` belongs to `CONTEXTRELAY_URL`: it is not used if the caller passes a base URL with another
 * origin.
 */
export function connection(options: Pick<ContextRelayOptions, 'baseUrl' | 'apiKey' | 'agent'>) {
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
    // Deno throws if the user has not allowed access to the environment.
    return undefined;
  }
}
