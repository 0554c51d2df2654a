import { type PointerRef, parsePointer } from '../contract/pointer-url.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { urlPointers } from './http-contents.ts';
import { httpRelay } from './http-relay.ts';
import { type ClientRelay, type ContextRelayOptions, connection, originOf } from './options.ts';

/** Chooses the relay for a pointer, and decides which relays get the API key. */
export class RelayChoice {
  readonly #options: ContextRelayOptions;
  readonly #ownBases: Set<string>;
  /** Origins to which the API key may be sent. */
  readonly #origins: Set<string | null>;

  constructor(options: ContextRelayOptions) {
    this.#options = options.relay ? options : { ...options, ...connection(options) };
    const { baseUrl, ownBases = [] } = this.#options;
    const bases = baseUrl ? [baseUrl, ...ownBases] : ownBases;
    this.#ownBases = new Set(bases.map(normalizeBase));
    this.#origins = new Set(bases.map(originOf));
  }

  /** True if a request body can be a stream. Browsers cannot stream a request body over HTTP/1.1. */
  get canStream(): boolean {
    const inBrowser = 'document' in globalThis || 'WorkerGlobalScope' in globalThis;
    return this.#options.relay !== undefined || !inBrowser || isCloudflare();
  }

  /** Returns the client's own relay. */
  own(signal?: AbortSignal): ClientRelay {
    const { relay, baseUrl, apiKey } = this.#options;
    return relay ?? httpRelay(this.#httpOptions(baseUrl!, apiKey, signal));
  }

  /**
   * Returns the relay that stores the pointer. This is the client's own relay, another relay, or for a plain
   * URL the server at that URL.
   */
  relayFor(ref: PointerRef, signal?: AbortSignal): ClientRelay {
    if (ref.base === null || (ref.address === undefined && this.#ownBases.has(normalizeBase(ref.base))))
      return this.own(signal);
    const mayReceiveKey = this.#origins.has(originOf(ref.base));
    const options = this.#httpOptions(ref.base, mayReceiveKey ? this.#options.apiKey : undefined, signal);
    const relay = httpRelay(options);
    if (ref.address === undefined) return relay;
    return { ...relay, pointers: { ...relay.pointers, ...urlPointers(new HttpClient(options)) } };
  }

  /**
   * Remembers the base URL of a pointer that the client's own relay returned. This base URL can differ from the
   * configured one. Pointers with the remembered base URL are then requested at the configured one, so that the API key
   * reaches no new host.
   */
  learn(url: string): void {
    const base = URL.canParse(url) ? parsePointer(url).base : null;
    if (base !== null && this.#ownBases.size < MAX_BASES) this.#ownBases.add(normalizeBase(base));
  }

  #httpOptions(baseUrl: string, apiKey: string | undefined, signal: AbortSignal | undefined): HttpOptions {
    const { fetch, timeout, retries, onConnection, onRequest } = this.#options;
    // Send the name of the agent only to the client's own relay.
    const agent = this.#origins.has(originOf(baseUrl)) ? this.#options.agent : undefined;
    return { baseUrl, apiKey, agent, fetch, timeout, retries, signal, onConnection, onRequest };
  }
}

const MAX_BASES = 16;

/** Normalizes a base URL for comparison: no query, no trailing slash, no `/v1`. */
function normalizeBase(base: string): string {
  const url = URL.canParse(base) ? new URL(base) : null;
  return (url ? url.origin + url.pathname : base).replace(/\/+$/, '').replace(/\/v1$/, '');
}

function isCloudflare(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  return navigator?.userAgent === 'Cloudflare-Workers';
}
