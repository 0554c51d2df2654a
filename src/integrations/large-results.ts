import { isRelayError } from '../base/errors.ts';
import { sha256Hex } from '../base/hash.ts';
import type { Pushed } from '../contract/pointers.ts';
import type { ContextRelay } from '../sdk/context-relay.ts';
import { LOOK_BYTES, shownInstead } from './large-text.ts';
import { isRelayTool } from './relay-tools.ts';

export interface LargeResultOptions {
  /** A result of more bytes becomes a pointer; 16 KiB by default, which is about 4 000 tokens. */
  readonly maxBytes?: number;
  /** Announces each there. */
  readonly channel?: string;
  /** Encrypts on this side. What the model is shown of a result it is shown all the same. */
  readonly encrypted?: boolean;
  /** Seconds until a result expires; a day by default. A session, transcript or checkpoint that is kept at the relay keeps it longer. */
  readonly ttl?: number;
  /** Names of tools whose results are left alone. */
  readonly except?: readonly string[];
  /** Told when a result could not be pushed. It then stays whole: work that was done is not lost. A warning on the console by default. */
  readonly onError?: (error: unknown) => void;
}

/** Below it a result costs less than what would be said in its place, and the question after it. */
const RESULT_BYTES = 16 * 1024;

const DAY_S = 24 * 3600;

/** More large results than one conversation has. */
const MOST_KNOWN = 1000;

export interface ShownOptions {
  readonly signal?: AbortSignal;
  /** It is stored elsewhere, nobody knows for how long: without a `ttl` the pointer lives as long as the relay allows. */
  readonly forever?: boolean;
}

/** Swaps results of tools that are too large for a prompt for pointers. The same result of the same tool has one pointer. */
export class LargeResults {
  readonly #relay: ContextRelay;
  readonly #options: LargeResultOptions;
  /** What was shown lately: some frameworks bring every result again with each step. */
  readonly #known = new Map<string, { readonly shown: string; readonly renewAt: number }>();

  constructor(relay: ContextRelay, options: LargeResultOptions = {}) {
    this.#relay = relay;
    this.#options = options;
  }

  /** What the model is shown: the text itself where it is small enough, else what stands for it. */
  async shown(text: string, tool: string, o: ShownOptions = {}): Promise<string> {
    const { signal } = o;
    const { maxBytes = RESULT_BYTES, except = [] } = this.#options;
    // A character is three bytes at most: what is shorter needs no measuring.
    if (text.length * 3 <= maxBytes || isRelayTool(tool) || except.includes(tool)) return text;
    const bytes = new TextEncoder().encode(text);
    if (bytes.byteLength <= maxBytes) return text;
    try {
      return await this.#swap(bytes, tool, o);
    } catch (error) {
      if (signal?.aborted) throw error;
      const { onError = warn } = this.#options;
      onError(error);
      return text;
    }
  }

  async #swap(bytes: Uint8Array<ArrayBuffer>, tool: string, o: ShownOptions): Promise<string> {
    const { signal } = o;
    const { channel, encrypted, ttl } = this.#options;
    const key = await sha256Hex(JSON.stringify([tool, channel, ttl, await sha256Hex(bytes)]));
    const entry = o.forever ? `${key} forever` : key;
    const known = this.#known.get(entry);
    if (known && known.renewAt > Date.now()) return known.shown;
    const what = `the result of ${tool}`;
    const pushed = await this.#relay.pushDetailed(bytes, {
      channel,
      encrypted,
      ttl,
      // What is encrypted is never the same twice, so there a key would be refused the second time.
      idempotencyKey: encrypted ? undefined : `result-${key}`,
      count: true,
      contentType: 'text/plain; charset=utf-8',
      metadata: { summary: what, tool },
      signal,
    });
    const { created_at } = await this.#relay.inspect(pushed.url, { signal });
    const shown = await shownInstead({
      ...pushed,
      what,
      size: bytes.byteLength,
      start: bytes.subarray(0, LOOK_BYTES),
      by: tool,
      at: created_at ?? pushed.expires_at,
    });
    const expires = await this.#renewed(pushed, o);
    const now = Date.now();
    this.#known.set(entry, { shown, renewAt: now + (expires - now) / 8 });
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.keys().next().value!);
    return shown;
  }

  /** When it expires: a pointer that is used again gets a new expiry. A relay that cannot renew it lets it expire as it was. */
  async #renewed({ url, expires_at }: Pushed, { forever, signal }: ShownOptions): Promise<number> {
    const expires = Date.parse(expires_at);
    const ttl = this.#options.ttl ?? (forever ? undefined : DAY_S);
    if (ttl !== undefined && expires - Date.now() >= (ttl * 1000 * 7) / 8) return expires;
    const [renewed] = await this.#relay.renew([url], { ttl, signal }).catch((error: unknown) => {
      if (signal?.aborted || !isRelayError(error)) throw error;
      return [];
    });
    return renewed ? Date.parse(renewed.expires_at) : expires;
  }
}

function warn(error: unknown): void {
  console.warn(`contextrelay: a large result stays whole, for it could not be pushed: ${String(error)}`);
}
