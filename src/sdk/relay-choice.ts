import { type PointerRef, parsePointer } from '../contract/pointer-url.ts';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { addressPointers } from './http-contents.ts';
import { httpRelay } from './http-relay.ts';
import { type ClientRelay, type ContextRelayOptions, connection, originOf } from './options.ts';

/** Decides which relay a pointer is asked from, and which of them may see the key. */
export class RelayChoice {
  readonly #options: ContextRelayOptions;
  readonly #ownBases: Set<string>;
  /** Origins that the key may be sent to. */
  readonly #origins: Set<string | null>;

  constructor(options: ContextRelayOptions) {
    this.#options = options.relay ? options : { ...options, ...connection(options) };
    const { baseUrl, ownBases = [] } = this.#options;
    const bases = baseUrl ? [baseUrl, ...ownBases] : ownBases;
    this.#ownBases = new Set(bases.map(plainBase));
    this.#origins = new Set(bases.map(originOf));
  }

  /** A stream can be sent as it comes, or has to be whole first: browsers send none over plain HTTP/1.1. */
  get canStream(): boolean {
    const inBrowser = 'document' in globalThis || 'WorkerGlobalScope' in globalThis;
    return this.#options.relay !== undefined || !inBrowser || isCloudflare();
  }

  own(signal?: AbortSignal): ClientRelay {
    const { relay, baseUrl, apiKey } = this.#options;
    return relay ?? httpRelay(this.#httpOptions(baseUrl!, apiKey, signal));
  }

  relayFor(ref: PointerRef, signal?: AbortSignal): ClientRelay {
    if (ref.base === null || (ref.address === undefined && this.#ownBases.has(plainBase(ref.base))))
      return this.own(signal);
    const mayKnow = this.#origins.has(originOf(ref.base));
    const options = this.#httpOptions(ref.base, mayKnow ? this.#options.apiKey : undefined, signal);
    const relay = httpRelay(options);
    if (ref.address === undefined) return relay;
    return { ...relay, pointers: { ...relay.pointers, ...addressPointers(new HttpClient(options)) } };
  }

  /**
   * A relay may give out pointers under its public address, which this client did not know. They are still asked for at the
   * base URL: what is learnt here sends the key nowhere new.
   */
  learn(url: string): void {
    const base = URL.canParse(url) ? parsePointer(url).base : null;
    if (base !== null && this.#ownBases.size < MOST_BASES) this.#ownBases.add(plainBase(base));
  }

  #httpOptions(baseUrl: string, apiKey: string | undefined, signal: AbortSignal | undefined): HttpOptions {
    const { fetch, timeout, retries, onConnection } = this.#options;
    return { baseUrl, apiKey, fetch, timeout, retries, signal, onConnection };
  }
}

const MOST_BASES = 16;

/** As it stands in a pointer; the routes under `/v1` are the same ones. */
function plainBase(base: string): string {
  const url = URL.canParse(base) ? new URL(base) : null;
  return (url ? url.origin + url.pathname : base).replace(/\/+$/, '').replace(/\/v1$/, '');
}

function isCloudflare(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  return navigator?.userAgent === 'Cloudflare-Workers';
}
