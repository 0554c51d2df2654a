import { KINDS, kindOf } from './token-pieces.ts';

/** The vocabulary of a tokenizer as bytes that are looked up where they lie, so that opening it takes no time. */
export interface TokenTable {
  /** The kind of each character: see token-pieces.ts. */
  readonly kinds: Uint8Array;
  /** The rank of the token that these bytes are, or NO_TOKEN. The lower it is, the earlier two parts are merged into it. */
  rankOf(text: Uint8Array, from: number, to: number): number;
}

export const NO_TOKEN = -1;

/**
 * Layout, in 32-bit integers: how many tokens and how many slots, where each token begins in the bytes and where the last one
 * ends, the slots of a hash table (the rank of a token plus one in the low 18 bits, the high bits of its hash above them; 0 is
 * empty). Then a byte for each character that says of which kind it is, and the bytes of all tokens.
 */
export function makeTokenTable(
  tokens: readonly (string | readonly number[] | Uint8Array)[],
): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
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
    const sum = hash(text, 0, text.length);
    let slot = sum & (slots - 1);
    while (table[slot] !== 0) slot = (slot + 1) & (slots - 1);
    table[slot] = (sum & ~RANK) | (rank + 1);
    made.set(text, head.byteLength + KINDS + end);
    end += text.length;
    head[HEAD + rank + 1] = end;
  }
  made.set(new Uint8Array(head.buffer));
  return made;
}

/** The vocabulary alone, in a quarter of the room once it is compressed: how long each token is, then the bytes of all. */
export function packTokens(made: Uint8Array): Uint8Array {
  const { count, ends, bytes } = partsOf(made);
  const packed = new Uint8Array(4 + count + bytes.length);
  new DataView(packed.buffer).setUint32(0, count, true);
  for (let rank = 0; rank < count; rank++) packed[4 + rank] = ends[rank + 1]! - ends[rank]!;
  packed.set(bytes, 4 + count);
  return packed;
}

export function unpackTokens(packed: Uint8Array): Uint8Array[] {
  const count = new DataView(packed.buffer, packed.byteOffset).getUint32(0, true);
  let end = 4 + count;
  return Array.from(packed.subarray(4, end), (length) => {
    end += length;
    return packed.subarray(end - length, end);
  });
}

/** Brings these bytes of a table into memory, where they are read only as they are needed. */
export type FetchBytes = (from: number, to: number) => void;

/** Whether the bytes are all there. A file that a crash cut off, or of which it left nothing but zeros, is not whole. */
export function isWholeTable(made: Uint8Array, fetch: FetchBytes = () => {}): boolean {
  if (made.length < 4 * HEAD) return false;
  fetch(0, 4 * HEAD);
  const { count, slots, ends, bytes } = partsOf(made);
  if (count <= 0 || slots <= count || bytes.length === 0) return false;
  fetch(4 * (HEAD + count), 4 * (HEAD + count + 1));
  return bytes.length === ends[count];
}

/** One that is whole. */
export function openTokenTable(made: Uint8Array, fetch: FetchBytes = () => {}): TokenTable {
  fetch(0, 4 * HEAD);
  const { slots, ends, table, kinds, bytes } = partsOf(made);
  const [endsAt, tableAt, kindsAt, bytesAt] = [ends, table, kinds, bytes].map(
    ({ byteOffset }) => byteOffset - made.byteOffset,
  ) as [number, number, number, number];
  fetch(kindsAt, bytesAt);
  const slotOf = (slot: number) => {
    fetch(tableAt + 4 * slot, tableAt + 4 * slot + 4);
    return table[slot]!;
  };
  return {
    kinds,
    rankOf(text, from, to) {
      if (to - from > LONGEST) return NO_TOKEN;
      const sum = hash(text, from, to);
      let slot = sum & (slots - 1);
      for (let found = slotOf(slot); found !== 0; found = slotOf(slot)) {
        slot = (slot + 1) & (slots - 1);
        if ((found ^ sum) & ~RANK) continue;
        const rank = (found & RANK) - 1;
        fetch(endsAt + 4 * rank, endsAt + 4 * rank + 8);
        const begin = ends[rank]!;
        if (ends[rank + 1]! - begin !== to - from) continue;
        fetch(bytesAt + begin, bytesAt + ends[rank + 1]!);
        let at = from;
        while (at < to && bytes[begin + at - from] === text[at]) at++;
        if (at === to) return rank;
      }
      return NO_TOKEN;
    },
  };
}

function partsOf(made: Uint8Array) {
  const integers = new Int32Array(made.buffer, made.byteOffset, Math.floor(made.byteLength / 4));
  const [count = 0, slots = 0] = integers;
  const behind = HEAD + count + 1 + slots;
  const kinds = 4 * behind;
  return {
    count,
    slots,
    ends: integers.subarray(HEAD, HEAD + count + 1),
    table: integers.subarray(HEAD + count + 1, behind),
    kinds: made.subarray(kinds, kinds + KINDS),
    bytes: made.subarray(kinds + KINDS),
  };
}

const HEAD = 2;
/** The bits of a slot that are a rank. */
const RANK = 2 ** 18 - 1;
/** The longest token of o200k_base, in bytes. */
const LONGEST = 128;

/** FNV-1a. */
function hash(text: Uint8Array, from: number, to: number): number {
  let sum = 0x811c9dc5;
  for (let at = from; at < to; at++) sum = Math.imul(sum ^ text[at]!, 0x01000193);
  return sum ^ (sum >>> 15);
}
