/**
 * The vocabulary of o200k_base as bytes that are looked up where they lie. Loading the tokenizer takes a fifth of a second, which
 * a hook does not have; reading this takes a millisecond or two, and the counts are the same.
 *
 * Layout, in 32-bit integers: how many tokens and how many slots, where each token begins in the bytes and where the last one
 * ends, the slots of a hash table (the number of a token plus one; 0 is empty). Then a byte for each character that says of which kind
 * it is, and the bytes of all tokens. The number of a
 * token is its rank.
 */
export function makeTokenTable(tokens: readonly (string | readonly number[])[]): Uint8Array {
  const texts = tokens.map((token) =>
    typeof token === 'string' ? encoder.encode(token) : Uint8Array.from(token),
  );
  const slots = 2 ** Math.ceil(Math.log2(texts.length * 1.25));
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  const head = new Int32Array(HEAD + texts.length + 1 + slots);
  head.set([texts.length, slots]);
  const table = head.subarray(HEAD + texts.length + 1);
  const made = new Uint8Array(head.byteLength + KINDS + size);
  for (let code = 0; code < KINDS; code++) made[head.byteLength + code] = kindOf(code);
  let end = 0;
  for (const [rank, text] of texts.entries()) {
    let slot = hash(text, 0, text.length) & (slots - 1);
    while (table[slot] !== 0) slot = (slot + 1) & (slots - 1);
    table[slot] = rank + 1;
    made.set(text, head.byteLength + KINDS + end);
    end += text.length;
    head[HEAD + rank + 1] = end;
  }
  made.set(new Uint8Array(head.buffer));
  return made;
}

/**
 * How many tokens a text is, by such a table. The time grows with the square of a piece without a break, so this is for
 * texts whose lines are short.
 */
export function tokenTableCounter(made: Uint8Array): (text: string) => number {
  const [count = 0, slots = 0] = new Int32Array(made.buffer, made.byteOffset, HEAD);
  const ends = new Int32Array(made.buffer, made.byteOffset + 4 * HEAD, count + 1);
  const table = new Int32Array(made.buffer, made.byteOffset + 4 * (HEAD + count + 1), slots);
  const kinds = made.subarray(4 * (HEAD + count + 1 + slots), 4 * (HEAD + count + 1 + slots) + KINDS);
  const bytes = made.subarray(4 * (HEAD + count + 1 + slots) + KINDS);
  const known = new Map<string, number>();

  const rankOf = (text: Uint8Array, from: number, to: number): number => {
    for (let slot = hash(text, from, to) & (slots - 1); table[slot] !== 0; slot = (slot + 1) & (slots - 1)) {
      const rank = table[slot]! - 1;
      const begin = ends[rank]!;
      if (ends[rank + 1]! - begin !== to - from) continue;
      let at = from;
      while (at < to && bytes[begin + at - from] === text[at]) at++;
      if (at === to) return rank;
    }
    return NONE;
  };

  /** Merges the two neighbours that together have the lowest rank, until no two are a token. */
  const countPiece = (text: Uint8Array): number => {
    if (rankOf(text, 0, text.length) !== NONE) return 1;
    const starts = Array.from({ length: text.length + 1 }, (_, at) => at);
    const pairRank = (at: number) =>
      at + 2 < starts.length ? rankOf(text, starts[at]!, starts[at + 2]!) : NONE;
    const ranks = starts.map((_, at) => pairRank(at));
    for (;;) {
      let best = 0;
      for (let at = 1; at < ranks.length; at++) if (ranks[at]! < ranks[best]!) best = at;
      if (ranks[best] === NONE) return starts.length - 1;
      starts.splice(best + 1, 1);
      ranks.splice(best + 1, 1);
      ranks[best] = pairRank(best);
      if (best > 0) ranks[best - 1] = pairRank(best - 1);
    }
  };

  return (text) => {
    let tokens = 0;
    const kindAt = (at: number) => {
      const code = text.codePointAt(at)!;
      return kinds[code] ?? (code >>> 8 === 0xe01 ? MARK : OTHER);
    };
    for (let from = 0, to = 0; from < text.length; from = to) {
      to = pieceEnd(text, from, kindAt);
      const piece = text.slice(from, to);
      const cost = known.get(piece) ?? countPiece(encoder.encode(piece));
      known.set(piece, cost);
      tokens += cost;
    }
    return tokens;
  };
}

const HEAD = 2;
/** Behind these there are only variation selectors, which are marks, and characters that are not assigned. */
const KINDS = 0x40000;
const NONE = Number.POSITIVE_INFINITY;
const encoder = new TextEncoder();

/** FNV-1a. */
function hash(text: Uint8Array, from: number, to: number): number {
  let sum = 0x811c9dc5;
  for (let at = from; at < to; at++) sum = Math.imul(sum ^ text[at]!, 0x01000193);
  return sum ^ (sum >>> 15);
}

/** The kinds of characters by which o200k_base splits a text before it merges bytes: no token spans two pieces. */
const [OTHER, MARK, UPPER, LOWER, LETTER, NUMBER, SPACE, LINE_END] = [1, 2, 4, 8, 16, 32, 64, 128];

function kindOf(code: number): number {
  const char = String.fromCodePoint(code);
  if (char === '\r' || char === '\n') return LINE_END;
  if (/\s/u.test(char)) return SPACE;
  if (/\p{N}/u.test(char)) return NUMBER;
  if (/\p{M}/u.test(char)) return MARK;
  if (/[\p{Lu}\p{Lt}]/u.test(char)) return UPPER;
  if (/\p{Ll}/u.test(char)) return LOWER;
  return /\p{L}/u.test(char) ? LETTER : OTHER;
}

const CONTRACTION = /'(?:[sdmt]|ll|ve|re)/iy;

/**
 * Where the piece that begins at `from` ends. It is the tokenizer's regular expression written out: compiling that takes
 * longer than everything else here.
 */
function pieceEnd(text: string, from: number, kindAt: (at: number) => number): number {
  const run = (at: number, kinds: number) => {
    let end = at;
    while (end < text.length && kindAt(end) & kinds) end += width(text, end);
    return end;
  };
  const first = kindAt(from);
  const isPrefix = (first & (OTHER | MARK | SPACE)) !== 0;
  for (const start of isPrefix ? [from + width(text, from), from] : [from]) {
    const upper = run(start, UPPER | LETTER | MARK);
    let end = run(upper, LOWER | LETTER | MARK);
    // Letters without case may end a word that begins with capitals, and capitals behind them begin the next.
    if (end === upper) {
      end = start;
      for (let at = start; at < upper; at += width(text, at))
        if (kindAt(at) !== UPPER) end = at + width(text, at);
    }
    if (end > start) return contracted(text, end);
    if (start !== from && kindAt(from) === MARK) continue;
    if (upper > start) return contracted(text, upper);
  }
  if (first === NUMBER) {
    let end = from;
    for (let digits = 0; digits < 3 && end < text.length && kindAt(end) === NUMBER; digits++)
      end += width(text, end);
    return end;
  }
  const symbols = text[from] === ' ' ? from + 1 : from;
  const end = run(symbols, OTHER | MARK);
  if (end > symbols) {
    let after = end;
    while (after < text.length && (text[after] === '/' || kindAt(after) === LINE_END)) after++;
    return after;
  }
  const blank = run(from, SPACE | LINE_END);
  for (let at = blank; at > from; at--) if (kindAt(at - 1) === LINE_END) return at;
  return blank === text.length || blank === from + 1 ? blank : blank - 1;
}

function width(text: string, at: number): number {
  return text.codePointAt(at)! > 0xffff ? 2 : 1;
}

function contracted(text: string, end: number): number {
  if (text[end] !== "'") return end;
  CONTRACTION.lastIndex = end;
  return CONTRACTION.test(text) ? CONTRACTION.lastIndex : end;
}
