import { RelayError } from '../../base/errors.ts';
import { checkKey, checkScope, checkText, compareKeys } from '../../kernel/admission.ts';

/** A key, a stream's name or an entry's id. A NUL would end the text for half of SQLite's functions and tools. */
export function checkName(what: string, name: string): void {
  checkKey(what, name);
  checkNul(what, name);
}

export function checkPrefix(what: string, prefix: string): void {
  checkText(what, prefix);
  checkNul(what, prefix);
}

export function checkSegment(what: string, prefix: string): void {
  checkScope(what, prefix);
  checkNul(what, prefix);
}

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

function checkNul(what: string, text: string): void {
  if (text.includes('\0')) throw new RelayError('bad_request', { what: `${what} must not hold a NUL` });
}
