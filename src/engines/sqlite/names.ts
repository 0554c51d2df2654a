import { compareKeys } from '../../kernel/admission.ts';

/** A listing as a condition on `key` that an index answers, from where it begins to where it ends. */
export interface KeyRange {
  readonly where: 'key > ? AND key < ?' | 'key >= ? AND key < ?';
  readonly from: string;
  readonly to: string | Uint8Array;
}

/** The keys that begin with the prefix and come behind `after`. */
export function keyRange(prefix: string, after: string | undefined): KeyRange {
  const to = behindPrefix(prefix);
  return after !== undefined && compareKeys(after, prefix) >= 0
    ? { where: 'key > ? AND key < ?', from: after, to }
    : { where: 'key >= ? AND key < ?', from: prefix, to };
}

/**
 * The least value behind every text that begins with the prefix, in the order of UTF-8 bytes, which is SQLite's.
 * Where there is no such text it is an empty blob, which SQLite sorts behind all text.
 */
export function behindPrefix(prefix: string): string | Uint8Array {
  const points = Array.from(prefix, (char) => char.codePointAt(0)!);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last < 0x10ffff) return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return new Uint8Array();
}
