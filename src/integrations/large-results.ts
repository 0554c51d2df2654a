import { isRelayError } from '../base/errors.ts';
import { count, exactBytes } from '../base/format.ts';
import { sha256Hex } from '../base/hash.ts';
import type { TokenCount } from '../base/tokens.ts';
import type { Inspected, Pushed } from '../contract/pointers.ts';
import type { ContextRelay } from '../sdk/context-relay.ts';
import { PEEK_TOOL, PULL_A_PART, PULL_TOOL, PUSH_TOOL } from '../sdk/context-tools.ts';
import { datedFrame } from '../text/frame.ts';
import { makePreview, type PreviewKind } from '../text/preview/preview.ts';

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

interface ShownOptions {
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

/** Whether it is one of our tools: what they answer is never swapped for a pointer. */
function isRelayTool(name: string): boolean {
  // Some frameworks put the name of a server in front: mcp__contextrelay__pull_context.
  return [PUSH_TOOL, PEEK_TOOL, PULL_TOOL].some(
    (tool) => name === tool.name || name.endsWith(`__${tool.name}`),
  );
}

function warn(error: unknown): void {
  console.warn(`contextrelay: a large result stays whole, for it could not be pushed: ${String(error)}`);
}

/** Enough of a payload to make a preview of. */
export const LOOK_BYTES = 16 * 1024;

interface LargeText {
  readonly url: string;
  readonly id: string;
  /** `the result of search_docs` */
  readonly what: string;
  readonly size: number;
  readonly tokens?: TokenCount;
  /** Its beginning; null where it was not looked at. */
  readonly start: Uint8Array | null;
  readonly by: string;
  /** ISO 8601; of the moment from which on it is the same. */
  readonly at: string;
}

/**
 * What stands in a prompt in place of a text that is too large for it: what it is, its price, its beginning as data of
 * somebody else, and how to read what is needed. The same bytes whenever it is made of the same pointer, so that caches of
 * prompts hold.
 */
async function shownInstead(large: LargeText): Promise<string> {
  const { url, id, what, size, tokens, start, by, at } = large;
  const price = tokens
    ? `, ${tokens.estimated ? 'about ' : ''}${count(tokens.tokens)} tokens (${tokens.tokenizer})`
    : '';
  const lines = [`Too large to show: ${what}, ${exactBytes(size)}${price}. It is at ${url}`];
  if (start) {
    const preview = makePreview(kindOf(start), { start, size, lineCount: 0, isText: true });
    // Who wrote the text did not know the id that it would get.
    const secret = async () => new TextEncoder().encode(id);
    lines.push(
      await datedFrame(preview.text, { what: `the beginning of ${what}`, by, at: Date.parse(at) }, secret),
    );
  }
  lines.push(PULL_A_PART);
  return lines.join('\n');
}

/** The same for a pointer that a model asked for, with no more of it pulled than is shown. */
export async function insteadOf(
  relay: ContextRelay,
  url: string,
  found: Inspected,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<string> {
  // Of an encrypted one there is no beginning without the whole, and a pull may be one of few.
  const looks = !url.includes('#key=') && found.max_pulls === null && found.text !== false;
  const range = { start: 0, end: Math.min(LOOK_BYTES, found.size ?? LOOK_BYTES) };
  const told = await shownInstead({
    url,
    id: found.id,
    what: found.text === false ? 'the payload, which is no text' : 'the payload',
    size: found.size ?? maxBytes,
    tokens: found.tokens,
    start: looks ? await relay.pullBytes(url, { range, signal }) : null,
    by: found.from ?? '',
    at: found.created_at ?? new Date(0).toISOString(),
  });
  return `Not pulled, for at most ${exactBytes(maxBytes)} are shown. ${told}`;
}

function kindOf(start: Uint8Array): PreviewKind {
  const first = new TextDecoder().decode(start.subarray(0, 64)).trimStart()[0];
  return first === '{' || first === '[' ? 'json' : 'text';
}
