import { behindPrefix, compareKeys } from './admission.ts';

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
