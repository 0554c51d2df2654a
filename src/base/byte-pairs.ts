const NONE = 0x7fffffff;
/** Below this a scan for the best pair is faster than keeping a heap. */
const SCAN_BYTES = 96;
/** No token of any table is longer, and no longer slice is ever hashed. */
const LONGEST_TOKEN = 256;

/**
 * How many tokens a piece of text makes under byte-pair encoding. Long pieces take a heap, so that a run of a million letters
 * costs hardly more for each of them than a word does; published tokenizers are quadratic there.
 */
export class BytePairs {
  /** Bytes, one for each character of the key, to the rank of their merge. */
  readonly #ranks: ReadonlyMap<string, number>;
  /** The first look at every byte is for a pair of two: an array is faster than a map of short strings. */
  readonly #twos = new Int32Array(256 * 256).fill(NONE);
  #next = new Int32Array(1024);
  #previous = new Int32Array(1024);
  #rank = new Int32Array(1024);

  constructor(ranks: ReadonlyMap<string, number>) {
    this.#ranks = ranks;
    for (const [key, rank] of ranks) {
      if (key.length === 2) this.#twos[key.charCodeAt(0) * 256 + key.charCodeAt(1)] = rank;
    }
  }

  /** `bytes` as in the keys of the table: one character each. */
  count(bytes: string): number {
    if (bytes.length < 2 || this.#ranks.has(bytes)) return bytes.length === 0 ? 0 : 1;
    this.#lay(bytes);
    return bytes.length <= SCAN_BYTES ? this.#mergeByScan(bytes) : this.#mergeByHeap(bytes);
  }

  /** Every byte a part of its own, linked to its neighbours, with the rank of the pair it begins. */
  #lay(bytes: string): void {
    const n = bytes.length;
    if (this.#rank.length < n + 1) {
      const room = 2 ** Math.ceil(Math.log2(n + 1));
      this.#next = new Int32Array(room);
      this.#previous = new Int32Array(room);
      this.#rank = new Int32Array(room);
    }
    for (let i = 0; i < n; i++) {
      this.#next[i] = i + 1;
      this.#previous[i] = i - 1;
      this.#rank[i] = i + 1 < n ? this.#twos[bytes.charCodeAt(i) * 256 + bytes.charCodeAt(i + 1)]! : NONE;
    }
    this.#next[n] = n;
  }

  #mergeByScan(bytes: string): number {
    const next = this.#next;
    const rank = this.#rank;
    for (let parts = bytes.length; ; parts--) {
      let best = NONE;
      let at = -1;
      for (let i = 0; i < bytes.length; i = next[i]!) {
        if (rank[i]! < best) {
          best = rank[i]!;
          at = i;
        }
      }
      if (at === -1) return parts;
      this.#merge(bytes, at);
    }
  }

  #mergeByHeap(bytes: string): number {
    const rank = this.#rank;
    const heap = new RankHeap(bytes.length);
    for (let i = 0; i < bytes.length; i++) if (rank[i] !== NONE) heap.push(rank[i]!, i);
    let parts = bytes.length;
    for (let top = heap.pop(); top !== null; top = heap.pop()) {
      const at = heap.position(top);
      // What has been merged away since, or has a new rank, is in the heap again or no longer meant.
      if (rank[at] !== heap.rank(top)) continue;
      this.#merge(bytes, at);
      parts--;
      if (rank[at] !== NONE) heap.push(rank[at]!, at);
      const before = this.#previous[at]!;
      if (before >= 0 && rank[before] !== NONE) heap.push(rank[before]!, before);
    }
    return parts;
  }

  #merge(bytes: string, at: number): void {
    const next = this.#next;
    const gone = next[at]!;
    const after = next[gone]!;
    next[at] = after;
    this.#previous[after] = at;
    this.#rank[gone] = NONE;
    this.#rank[at] = after < bytes.length ? this.#lookUp(bytes, at, next[after]!) : NONE;
    const before = this.#previous[at]!;
    if (before >= 0) this.#rank[before] = this.#lookUp(bytes, before, after);
  }

  #lookUp(bytes: string, from: number, to: number): number {
    if (to - from > LONGEST_TOKEN) return NONE;
    return this.#ranks.get(bytes.slice(from, to)) ?? NONE;
  }
}

/** Rank and position in one number: the lowest rank first, and of equals the leftmost. */
class RankHeap {
  #keys: Float64Array;
  #size = 0;
  readonly #scale: number;

  constructor(positions: number) {
    this.#keys = new Float64Array(positions * 2);
    this.#scale = positions;
  }

  rank(key: number): number {
    return Math.floor(key / this.#scale);
  }

  position(key: number): number {
    return key % this.#scale;
  }

  push(rank: number, position: number): void {
    if (this.#size === this.#keys.length) {
      const larger = new Float64Array(this.#size * 2);
      larger.set(this.#keys);
      this.#keys = larger;
    }
    const keys = this.#keys;
    const key = rank * this.#scale + position;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (keys[parent]! <= key) break;
      keys[at] = keys[parent]!;
      at = parent;
    }
    keys[at] = key;
  }

  pop(): number | null {
    if (this.#size === 0) return null;
    const keys = this.#keys;
    const top = keys[0]!;
    const last = keys[--this.#size]!;
    let at = 0;
    for (let child = 1; child < this.#size; child = 2 * at + 1) {
      if (child + 1 < this.#size && keys[child + 1]! < keys[child]!) child++;
      if (keys[child]! >= last) break;
      keys[at] = keys[child]!;
      at = child;
    }
    keys[at] = last;
    return top;
  }
}
