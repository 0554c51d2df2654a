import { count, exactBytes } from '../base/format.ts';
import type { TokenCount } from '../base/tokens.ts';
import type { Inspected } from '../contract/pointers.ts';
import type { ContextRelay } from '../sdk/context-relay.ts';
import { PULL_A_PART } from '../sdk/context-tools.ts';
import { datedFrame } from '../text/frame.ts';
import { makePreview, type PreviewKind } from '../text/preview/preview.ts';

/** Enough of a payload to make a preview of. */
export const LOOK_BYTES = 16 * 1024;

export interface LargeText {
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
export async function shownInstead(large: LargeText): Promise<string> {
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
