import { TOKEN_COUNT_CHARS, TOKEN_SLICE_CHARS } from '../base/limits.ts';
import type { TokenCount } from '../base/tokens.ts';
import { NO_TOKEN, TokenPieces, type TokenTable } from './token-table.ts';

/**
 * Returns a function that counts tokens with the vocabulary of o200k_base. Special tokens such as `<|endoftext|>`
 * count as plain text. Very long pieces are cut, and in a very long text only evenly spread slices are counted; the
 * result is then marked as an estimate. So the time is linear in the length of the text and has an upper limit.
 */
export function tokenCounter({ charClasses, rankOf }: TokenTable): (text: string) => TokenCount {
  const merge = new Merge(rankOf);
  const encoder = new TextEncoder();
  let bytes = new Uint8Array(FEW_BYTES);
  return (text) => {
    const pieces = new TokenPieces(text, charClasses);
    const stride = Math.max(1, text.length / TOKEN_COUNT_CHARS);
    // Cache the count of each piece, because words repeat and this lookup is faster than one in the table.
    const countCache = new Map<string, number>();
    let [tokens, counted] = [0, 0];
    for (let from = 0; from < text.length; ) {
      const began = from;
      while (from < text.length && from < began + TOKEN_SLICE_CHARS) {
        const to = pieces.end(from);
        const piece = text.slice(from, to);
        let count = countCache.get(piece);
        if (count === undefined) {
          if (3 * piece.length > bytes.length) bytes = new Uint8Array(MAX_PIECE_BYTES);
          const { written } = encoder.encodeInto(piece, bytes);
          count = rankOf(bytes, 0, written) === NO_TOKEN ? merge.count(bytes, written) : 1;
          countCache.set(piece, count);
        }
        tokens += count;
        from = to;
      }
      counted += from - began;
      from += Math.floor((from - began) * (stride - 1));
    }
    if (counted > 0) tokens = Math.round((tokens * text.length) / counted);
    return { tokens, tokenizer: 'o200k_base', estimated: pieces.cut || stride > 1 };
  };
}

/**
 * Maximum size of a piece in bytes. A UTF-16 code unit has at most three bytes in UTF-8. A contraction such as `'ll`
 * may follow a piece of TOKEN_SLICE_CHARS.
 */
const MAX_PIECE_BYTES = 3 * (TOKEN_SLICE_CHARS + 4);
/**
 * Initial size of the buffer in bytes: enough for the pieces of most texts, so that short commands need little
 * memory.
 */
const FEW_BYTES = 1024;

/**
 * Byte pair merging: repeatedly merges the two neighbours that form the token with the lowest rank, leftmost first,
 * until no two neighbours form a token. With a heap, the time grows almost linearly with the piece.
 */
class Merge {
  readonly #rankOf: TokenTable['rankOf'];
  /** Maps the start of a part to the start of the previous part. */
  #previous = new Int32Array(0);
  /** Maps the start of a part to the start of the next part. */
  #next = new Int32Array(0);
  /** Maps the start of a part to the rank of the token that this part and the next part form together. */
  #ranks = new Int32Array(0);
  /**
   * Heap of possible merges. Each number combines a rank and a position. Outdated entries stay until they are popped.
   */
  #heap = new Float64Array(0);
  #size = 0;

  constructor(rankOf: TokenTable['rankOf']) {
    this.#rankOf = rankOf;
  }

  count(bytes: Uint8Array, length: number): number {
    if (length >= this.#ranks.length) this.#makeRoom(length > FEW_BYTES ? MAX_PIECE_BYTES : FEW_BYTES);
    const [previous, next, ranks] = [this.#previous, this.#next, this.#ranks];
    for (let at = 0; at <= length; at++) {
      previous[at] = at - 1;
      next[at] = at + 1;
    }
    const rank = (at: number) => {
      const after = next[at]!;
      ranks[at] = after < length ? this.#rankOf(bytes, at, next[after]!) : NO_TOKEN;
      if (ranks[at] !== NO_TOKEN) this.#push(ranks[at]! * POSITIONS + at);
    };
    for (let at = 0; at < length; at++) rank(at);
    let parts = length;
    while (this.#size > 0) {
      const key = this.#pop();
      const at = key % POSITIONS;
      if (ranks[at] !== (key - at) / POSITIONS) continue;
      const merged = next[at]!;
      ranks[merged] = NO_TOKEN;
      next[at] = next[merged]!;
      previous[next[at]!] = at;
      parts--;
      rank(at);
      if (at > 0) rank(previous[at]!);
    }
    return parts;
  }

  #makeRoom(bytes: number): void {
    this.#previous = new Int32Array(bytes + 1);
    this.#next = new Int32Array(bytes + 1);
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

/** Factor that combines a rank and a position in one number. It exceeds every position in a piece. */
const POSITIONS = 2 ** 16;
