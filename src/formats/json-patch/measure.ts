import type { Json } from '../../base/json.ts';
import { utf8Bytes } from '../../base/utf8.ts';

export interface Measure {
  /** Bytes of the JSON text, in UTF-8, without white space. */
  readonly bytes: number;
  /** 0 for a scalar, 1 for a container of scalars. */
  readonly depth: number;
  /** Items or members of the value itself. */
  readonly count: number;
}

/**
 * Measures values without writing them out. What has been measured is remembered by identity, so a value may be
 * measured again and again, and one that is referred to many times over costs no more than once. Values in `open` are
 * still being changed and are not remembered.
 */
export function measure(value: Json, open: { has(value: object): boolean }): Measure {
  if (typeof value !== 'object' || value === null) return { bytes: scalarBytes(value), depth: 0, count: 0 };
  const known = memory.get(value);
  if (known) return known;
  let bytes = 2;
  let depth = 0;
  let count = 0;
  const take = (child: Json) => {
    const inner = measure(child, open);
    bytes += inner.bytes;
    if (inner.depth > depth) depth = inner.depth;
    count++;
  };
  if (Array.isArray(value)) for (const child of value) take(child);
  else {
    for (const key in value) {
      bytes += stringBytes(key) + 1;
      take(value[key]!);
    }
  }
  const result = { bytes: bytes + Math.max(0, count - 1), depth: depth + 1, count };
  if (!open.has(value)) memory.set(value, result);
  return result;
}

export function stringBytes(text: string): number {
  return PLAIN.test(text) ? text.length + 2 : utf8Bytes(JSON.stringify(text));
}

const memory = new WeakMap<object, Measure>();
const PLAIN = /^[ !#-[\]-~]*$/;

function scalarBytes(value: string | number | boolean | null): number {
  return typeof value === 'string' ? stringBytes(value) : String(value).length;
}
