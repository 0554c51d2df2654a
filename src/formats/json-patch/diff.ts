import { escapeSegment, isJsonObject, type Json, type JsonObject, jsonEqual } from '../../base/json.ts';
import type { PatchOp } from './apply.ts';

/**
 * Returns a patch that changes `from` to `to`. It is short, but not always the shortest. Skips objects that both
 * values share.
 */
export function diffJson(from: Json, to: Json, path = ''): PatchOp[] {
  const ops: PatchOp[] = [];
  compare(from, to, path, ops);
  return ops;
}

function compare(from: Json, to: Json, path: string, ops: PatchOp[]): void {
  if (from === to) return;
  if (Array.isArray(from) && Array.isArray(to)) compareArrays(from, to, path, ops);
  else if (isJsonObject(from) && isJsonObject(to)) compareObjects(from, to, path, ops);
  else if (!jsonEqual(from, to)) ops.push({ op: 'replace', path, value: to });
}

function compareObjects(from: JsonObject, to: JsonObject, path: string, ops: PatchOp[]): void {
  for (const key of Object.keys(from)) {
    if (!Object.hasOwn(to, key)) ops.push({ op: 'remove', path: `${path}/${escapeSegment(key)}` });
  }
  for (const [key, value] of Object.entries(to)) {
    const place = `${path}/${escapeSegment(key)}`;
    if (Object.hasOwn(from, key)) compare(from[key]!, value, place, ops);
    else ops.push({ op: 'add', path: place, value });
  }
}

function compareArrays(from: Json[], to: Json[], path: string, ops: PatchOp[]): void {
  let start = 0;
  let [fromEnd, toEnd] = [from.length, to.length];
  while (start < fromEnd && start < toEnd && jsonEqual(from[start], to[start])) start++;
  while (fromEnd > start && toEnd > start && jsonEqual(from[fromEnd - 1], to[toEnd - 1])) {
    fromEnd--;
    toEnd--;
  }
  const oldItems = from.slice(start, fromEnd);
  const newItems = to.slice(start, toEnd);
  if (oldItems.length === newItems.length) {
    oldItems.forEach((item, i) => {
      compare(item, newItems[i]!, `${path}/${start + i}`, ops);
    });
    return;
  }
  const common = commonItems(oldItems, newItems);
  // First remove items from the end, then add items from the start, so that every index is valid when it is used.
  const staying = new Set(common.map(([i]) => i));
  for (let i = oldItems.length - 1; i >= 0; i--) {
    if (!staying.has(i)) ops.push({ op: 'remove', path: `${path}/${start + i}` });
  }
  const present = new Set(common.map(([, j]) => j));
  newItems.forEach((value, j) => {
    if (!present.has(j)) ops.push({ op: 'add', path: `${path}/${start + j}`, value });
  });
}

/**
 * Returns items that both lists contain in the same order, as pairs of indexes. Pairs each item of `a` with the next
 * equal item of `b`, and keeps the longest sequence of pairs with increasing indexes. Without duplicates, this is the
 * longest common subsequence.
 */
function commonItems(a: Json[], b: Json[]): [number, number][] {
  const places = Map.groupBy([...b.keys()].reverse(), (j) => JSON.stringify(b[j]));
  const pairs = a.flatMap((item, i): [number, number][] => {
    const j = places.get(JSON.stringify(item))?.pop();
    return j === undefined ? [] : [[i, j]];
  });
  /**
   * `ends[n]` is the index in `pairs` at which an increasing sequence of n + 1 pairs ends. If there are several such
   * sequences, it is the sequence whose last pair has the smallest index in `b`.
   */
  const ends: number[] = [];
  const before: number[] = [];
  for (const [at, [, j]] of pairs.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pairs[ends[middle]!]![1] < j) low = middle + 1;
      else high = middle;
    }
    before[at] = ends[low - 1] ?? -1;
    ends[low] = at;
  }
  const common: [number, number][] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at]!) common.push(pairs[at]!);
  return common.reverse();
}
