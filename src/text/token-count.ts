import { TOKEN_COUNT_CHARS, TOKEN_SLICE_CHARS } from '../base/limits.ts';
import type { TokenCount } from '../base/tokens.ts';
import { NO_TOKEN, TokenPieces, type TokenTable } from './token-table.ts';

/**
 * Counts with the vocabulary of o200k_base; special tokens such as `<|endoftext|>` are the plain text that they are in a payload.
 *
 * The time is linear in the text, whatever is in it, and bounded: a piece without a break that is longer than a slice is cut,
 * and of a text that is too long, slices that are spread evenly over it are counted. Then the figure is an estimate and says so.
 */
export function tokenCounter({ kinds, rankOf }: TokenTable): (text: string) => TokenCount {
  const merge = new Merge(rankOf);
  const encoder = new TextEncoder();
  let bytes = new Uint8Array(FEW_BYTES);
  return (text) => {
    const pieces = new TokenPieces(text, kinds);
    const stride = Math.max(1, text.length / TOKEN_COUNT_CHARS);
    let [tokens, counted] = [0, 0];
    for (let from = 0; from < text.length; ) {
      const began = from;
      while (from < text.length && from < began + TOKEN_SLICE_CHARS) {
        const to = pieces.end(from);
        if (3 * (to - from) > bytes.length) bytes = new Uint8Array(MOST_BYTES);
        const { written } = encoder.encodeInto(text.slice(from, to), bytes);
        tokens += rankOf(bytes, 0, written) === NO_TOKEN ? merge.count(bytes, written) : 1;
        from = to;
      }
      counted += from - began;
      from += Math.floor((from - began) * (stride - 1));
    }
    if (counted > 0) tokens = Math.round((tokens * text.length) / counted);
    return { tokens, tokenizer: 'o200k_base', estimated: pieces.cut || stride > 1 };
  };
}

/** A character of UTF-16 is three bytes at most; a contraction may follow a slice. */
const MOST_BYTES = 3 * (TOKEN_SLICE_CHARS + 4);
/** Enough for the pieces of most texts: a command that counts one touches no more memory than it needs. */
const FEW_BYTES = 1024;

/**
 * Merges the two neighbours that together are the token of the lowest rank, the first of equals, until no two are a token. Which
 * they are is told by a heap, so that the time grows hardly faster than the piece.
 */
class Merge {
  readonly #rankOf: TokenTable['rankOf'];
  /** Where the parts before and behind begin, and the rank of each with the one behind, by where it begins. */
  #before = new Int32Array(0);
  #behind = new Int32Array(0);
  #ranks = new Int32Array(0);
  /** Numbers made of a rank and a place. Those that no longer hold stay until their turn comes. */
  #heap = new Float64Array(0);
  #size = 0;

  constructor(rankOf: TokenTable['rankOf']) {
    this.#rankOf = rankOf;
  }

  count(bytes: Uint8Array, length: number): number {
    if (length >= this.#ranks.length) this.#makeRoom(length > FEW_BYTES ? MOST_BYTES : FEW_BYTES);
    const [before, behind, ranks] = [this.#before, this.#behind, this.#ranks];
    for (let at = 0; at <= length; at++) {
      before[at] = at - 1;
      behind[at] = at + 1;
    }
    const rank = (at: number) => {
      const next = behind[at]!;
      ranks[at] = next < length ? this.#rankOf(bytes, at, behind[next]!) : NO_TOKEN;
      if (ranks[at] !== NO_TOKEN) this.#push(ranks[at]! * PLACES + at);
    };
    for (let at = 0; at < length; at++) rank(at);
    let parts = length;
    while (this.#size > 0) {
      const key = this.#pop();
      const at = key % PLACES;
      if (ranks[at] !== (key - at) / PLACES) continue;
      const gone = behind[at]!;
      ranks[gone] = NO_TOKEN;
      behind[at] = behind[gone]!;
      before[behind[at]!] = at;
      parts--;
      rank(at);
      if (at > 0) rank(before[at]!);
    }
    return parts;
  }

  #makeRoom(bytes: number): void {
    this.#before = new Int32Array(bytes + 1);
    this.#behind = new Int32Array(bytes + 1);
    this.#ranks = new Int32Array(bytes + 1);
    this.#heap = new Float64Array(3 * bytes);
  }

  #push(key: number): void {
    const heap = this.#heap;
    let at = this.#size++;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (heap[above]! <= key) break;
      heap[at] = heap[above]!;
      at = above;
    }
    heap[at] = key;
  }

  #pop(): number {
    const heap = this.#heap;
    const least = heap[0]!;
    const key = heap[--this.#size]!;
    let at = 0;
    for (let below = 1; below < this.#size; below = 2 * at + 1) {
      if (below + 1 < this.#size && heap[below + 1]! < heap[below]!) below++;
      if (heap[below]! >= key) break;
      heap[at] = heap[below]!;
      at = below;
    }
    heap[at] = key;
    return least;
  }
}

/** More than there are places in a piece. */
const PLACES = 2 ** 16;
