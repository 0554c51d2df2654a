import { isRelayError } from '../base/errors.ts';
import { exactBytes, plural } from '../base/format.ts';
import { sha256Hex } from '../base/hash.ts';
import { EXCERPT_TOKENS } from '../base/limits.ts';
import type { TokenCount } from '../base/tokens.ts';
import type { Inspected, Pushed } from '../contract/pointers.ts';
import type { ContextRelay } from '../sdk/context-relay.ts';
import { PEEK_TOOL, PULL_A_PART, PULL_TOOL, PUSH_TOOL } from '../sdk/context-tools.ts';
import { datedFrame } from '../text/frame.ts';
import { makePreview } from '../text/preview/preview.ts';
import { neutralise } from '../text/sanitize/neutralise.ts';
import { Patience } from './patience.ts';

export interface LargeResultOptions {
  /** Size in bytes above which a result is replaced with a pointer; 16 KiB by default, about 4 000 tokens. */
  readonly maxBytes?: number;
  /** Channel on which each large result is announced. */
  readonly channel?: string;
  /** True to encrypt the results on the client. The model still sees a preview of each result. */
  readonly encrypted?: boolean;
  /**
   * Seconds until a result expires; a day by default. If a session, transcript or checkpoint that is stored
   * on the relay mentions the result, the result lives longer.
   */
  readonly ttl?: number;
  /** Names of tools whose results stay unchanged. */
  readonly except?: readonly string[];
  /**
   * Called if a result could not be pushed. The model then gets the full result, so that no work is lost. By default,
   * a warning is logged.
   */
  readonly onError?: (error: unknown) => void;
}

/**
 * Default of `maxBytes`. Replacing a smaller result would cost more tokens than it saves: the replacement has
 * tokens too, and so have later calls that read more of the result.
 */
const RESULT_BYTES = 16 * 1024;

const DAY_S = 24 * 3600;

/** Types of text blocks in the results of the frameworks. */
const TEXT_BLOCKS: ReadonlySet<unknown> = new Set(['text', 'input_text']);

/** Maximum number of remembered replacements. One conversation has fewer. */
const MAX_REMEMBERED = 1000;

interface ReplaceOptions {
  readonly signal?: AbortSignal;
  /**
   * True if the text is also stored elsewhere, for an unknown time. If no `ttl` is set, its pointer then
   * lives as long as the relay allows.
   */
  readonly forever?: boolean;
}

/** Replaces large tool results with pointers. Equal results of a tool share one pointer. */
export class LargeResults {
  readonly #relay: ContextRelay;
  readonly #options: LargeResultOptions;
  readonly #patience = new Patience();
  /**
   * Recent replacements by content. Some frameworks send every result again with each step, and then the
   * replacement is reused.
   */
  readonly #replacements = new Map<string, { readonly text: string; readonly renewAt: number }>();

  constructor(relay: ContextRelay, options: LargeResultOptions = {}) {
    this.#relay = relay;
    this.#options = options;
  }

  /** Returns the text for the model: the text itself if it is small enough, otherwise its replacement. */
  async replaceText(text: string, tool: string, o: ReplaceOptions = {}): Promise<string> {
    const { signal } = o;
    const { maxBytes = RESULT_BYTES, except = [] } = this.#options;
    // A UTF-16 code unit has at most three bytes in UTF-8. So a short text fits and need not be encoded to
    // measure it.
    if (text.length * 3 <= maxBytes || isRelayTool(tool) || except.includes(tool)) return text;
    const bytes = new TextEncoder().encode(text);
    if (bytes.byteLength <= maxBytes) return text;
    try {
      const swap = (limited: AbortSignal) => this.#swap(bytes, tool, { ...o, signal: limited });
      return (await this.#patience.run(swap, signal)) ?? text;
    } catch (error) {
      if (signal?.aborted) throw error;
      const { onError = warn } = this.#options;
      onError(error);
      return text;
    }
  }

  /**
   * Returns the blocks of a result for the model. All texts together count as one result. If they are too
   * large, the first text block becomes the replacement and the other text blocks are removed. Other blocks,
   * such as images, stay.
   */
  async replaceBlocks<B extends { readonly type?: unknown; readonly text?: unknown }>(
    blocks: readonly B[],
    tool: string,
    o: ReplaceOptions = {},
  ): Promise<readonly B[]> {
    const isText = ({ type, text }: B) => TEXT_BLOCKS.has(type) && typeof text === 'string';
    const texts = blocks.filter(isText);
    const joined = texts.map(({ text }) => text).join('\n');
    const instead = await this.replaceText(joined, tool, o);
    if (instead === joined) return blocks;
    return blocks.flatMap((block) => {
      if (block === texts[0]) return [{ ...block, text: instead }];
      return isText(block) ? [] : [block];
    });
  }

  async #swap(bytes: Uint8Array<ArrayBuffer>, tool: string, o: ReplaceOptions): Promise<string> {
    const { signal } = o;
    const { channel, encrypted, ttl } = this.#options;
    const key = await sha256Hex(JSON.stringify([tool, channel, ttl, await sha256Hex(bytes)]));
    const entry = o.forever ? `${key} forever` : key;
    const replacement = this.#replacements.get(entry);
    if (replacement && replacement.renewAt > Date.now()) return replacement.text;
    const what = `the result of ${tool}`;
    const pushed = await this.#relay.pushDetailed(bytes, {
      channel,
      encrypted,
      ttl,
      // The relay rejects a repeated idempotency key with other bytes. Encryption gives other bytes each
      // time, so an encrypted push has no key.
      idempotencyKey: encrypted ? undefined : `result-${key}`,
      count: true,
      excerpt: EXCERPT_TOKENS,
      contentType: 'text/plain; charset=utf-8',
      metadata: { summary: what, tool },
      signal,
    });
    const { created_at } = await this.#relay.inspect(pushed.url, { signal });
    const description = await describeLargeText({
      ...pushed,
      what,
      size: bytes.byteLength,
      shown: pushed.excerpt
        ? { what: `an excerpt of ${what}`, text: neutralise(pushed.excerpt) }
        : await beginningOf(what, bytes.subarray(0, PREVIEW_BYTES), bytes.byteLength),
      by: tool,
      at: created_at ?? pushed.expires_at,
    });
    const expires = await this.#renewed(pushed, o);
    const now = Date.now();
    this.#replacements.set(entry, { text: description, renewAt: now + (expires - now) / 8 });
    if (this.#replacements.size > MAX_REMEMBERED)
      this.#replacements.delete(this.#replacements.keys().next().value!);
    return description;
  }

  /**
   * Renews a pointer if an earlier push created it and it expires too soon. Returns its expiry. If the relay
   * cannot renew it, returns the old expiry.
   */
  async #renewed({ url, expires_at }: Pushed, { forever, signal }: ReplaceOptions): Promise<number> {
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

/** Names of our tools, including the names in older versions. */
const OWN_TOOLS = [PUSH_TOOL.name, PEEK_TOOL.name, PULL_TOOL.name, 'contextrelay_push', 'contextrelay_pull'];

/** Returns whether the tool is one of ours. Its results are never replaced. */
function isRelayTool(name: string): boolean {
  // Some frameworks prefix the server's name: mcp__contextrelay__pull_context.
  return OWN_TOOLS.some((tool) => name === tool || name.endsWith(`__${tool}`));
}

function warn(error: unknown): void {
  console.warn(
    `contextrelay: a large result could not be pushed, so the prompt contains all of it: ${String(error)}`,
  );
}

/** Number of bytes of a payload that are enough for a preview. */
export const PREVIEW_BYTES = 16 * 1024;

/** A part of a text to show. `what` describes the part in the frame. */
interface ShownPart {
  readonly what: string;
  readonly text: string;
}

interface LargeText {
  readonly url: string;
  readonly id: string;
  /** Description of the text, such as `the result of search_docs`. */
  readonly what: string;
  readonly size: number;
  readonly tokens?: TokenCount;
  /** The part to show; null if no part was read. */
  readonly shown: ShownPart | null;
  readonly by: string;
  /** Creation time in ISO 8601. */
  readonly at: string;
}

/**
 * Returns the replacement of a text that is too large for a prompt. It has a description of the text, its
 * token count, a part of it in a frame, and how to read more. Equal input gives equal bytes, so that prompt
 * caches work.
 */
async function describeLargeText(large: LargeText): Promise<string> {
  const { url, id, what, size, tokens, shown, by, at } = large;
  const price = tokens
    ? `, ${tokens.estimated ? 'about ' : ''}${plural(tokens.tokens, 'token')} (${tokens.tokenizer})`
    : '';
  const lines = [`Too large to show: ${what}, ${exactBytes(size)}${price}. It is at ${url}`];
  if (shown) {
    // The author of the text could not know the id of the pointer in advance. So the id can be the secret of
    // the frame, which the author must not know.
    const secret = async () => new TextEncoder().encode(id);
    lines.push(await datedFrame(shown.text, { what: shown.what, by, at: Date.parse(at) }, secret));
  }
  lines.push(PULL_A_PART);
  return lines.join('\n');
}

/**
 * Returns the replacement of a payload that a model asked for but that is too large. Only the beginning of
 * the payload is read, because only this is shown.
 */
export async function describePointer(
  relay: ContextRelay,
  url: string,
  info: Inspected,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<string> {
  // Do not read the beginning of an encrypted payload, because it would be unreadable. Do not read the beginning
  // of a payload with limited pulls, because that would use up one of the pulls.
  const looks = !url.includes('#key=') && info.max_pulls === null && info.text !== false;
  const range = { start: 0, end: Math.min(PREVIEW_BYTES, info.size ?? PREVIEW_BYTES) };
  const what = info.text === false ? 'the payload, which is not text' : 'the payload';
  const size = info.size ?? maxBytes;
  const replacement = await describeLargeText({
    url,
    id: info.id,
    what,
    size,
    tokens: info.tokens,
    shown: looks ? await beginningOf(what, await relay.pullBytes(url, { range, signal }), size) : null,
    by: info.from ?? '',
    at: info.created_at ?? new Date(0).toISOString(),
  });
  return `Not pulled: the limit for one result is ${exactBytes(maxBytes)}. ${replacement}`;
}

async function beginningOf(what: string, start: Uint8Array, size: number): Promise<ShownPart> {
  const { text } = await makePreview('text', { start, size, lineCount: 0, isText: true });
  return { what: `the beginning of ${what}`, text };
}
