import { escapeSegment, isJsonObject, type Json, type JsonObject, jsonEqual } from '../../base/json.ts';
import type { PatchOp } from './apply.ts';

/** A patch that makes `to` of `from`: short rather than shortest. Parts that are shared are not looked into. */
export function diffJson(from: Json, to: Json, path = ''): PatchOp[] {
  const ops = new Operations();
  compare(from, to, path, ops);
  return ops.list;
}

/** Pairs of items that are compared in all, and those of one list. Where more would be, the middle of a list is taken out and put in. */
const PAIRS = 1_000_000;
const PAIRS_OF_LIST = 250_000;

class Operations {
  readonly list: PatchOp[] = [];
  #pairs = PAIRS;

  push(op: PatchOp): void {
    this.list.push(op);
  }

  /** Whether so many pairs may still be compared; then they count. */
  takePairs(pairs: number): boolean {
    if (pairs > this.#pairs || pairs > PAIRS_OF_LIST) return false;
    this.#pairs -= pairs;
    return true;
  }
}

function compare(from: Json, to: Json, path: string, ops: Operations): void {
  if (from === to) return;
  if (Array.isArray(from) && Array.isArray(to)) compareArrays(from, to, path, ops);
  else if (isJsonObject(from) && isJsonObject(to)) compareObjects(from, to, path, ops);
  else if (!jsonEqual(from, to)) ops.push({ op: 'replace', path, value: to });
}

function compareObjects(from: JsonObject, to: JsonObject, path: string, ops: Operations): void {
  for (const key of Object.keys(from)) {
    if (!Object.hasOwn(to, key)) ops.push({ op: 'remove', path: `${path}/${escapeSegment(key)}` });
  }
  for (const [key, value] of Object.entries(to)) {
    const place = `${path}/${escapeSegment(key)}`;
    if (Object.hasOwn(from, key)) compare(from[key]!, value, place, ops);
    else ops.push({ op: 'add', path: place, value });
  }
}

function compareArrays(from: Json[], to: Json[], path: string, ops: Operations): void {
  let start = 0;
  let [fromEnd, toEnd] = [from.length, to.length];
  while (start < fromEnd && start < toEnd && jsonEqual(from[start], to[start])) start++;
  while (fromEnd > start && toEnd > start && jsonEqual(from[fromEnd - 1], to[toEnd - 1])) {
    fromEnd--;
    toEnd--;
  }
  const gone = from.slice(start, fromEnd);
  const come = to.slice(start, toEnd);
  if (gone.length === come.length) {
    gone.forEach((item, i) => {
      compare(item, come[i]!, `${path}/${start + i}`, ops);
    });
    return;
  }
  const kept = ops.takePairs(gone.length * come.length) ? commonItems(gone, come) : [];
  // Removals first and from behind, additions from the front: no index has moved when its turn comes.
  const staying = new Set(kept.map(([i]) => i));
  for (let i = gone.length - 1; i >= 0; i--) {
    if (!staying.has(i)) ops.push({ op: 'remove', path: `${path}/${start + i}` });
  }
  const present = new Set(kept.map(([, j]) => j));
  come.forEach((value, j) => {
    if (!present.has(j)) ops.push({ op: 'add', path: `${path}/${start + j}`, value });
  });
}

/** The longest common subsequence, as pairs of indexes. */
function commonItems(a: Json[], b: Json[]): [number, number][] {
  const ids = new Map<string, number>();
  const name = (item: Json) => {
    const text = JSON.stringify(item);
    if (!ids.has(text)) ids.set(text, ids.size);
    return ids.get(text)!;
  };
  const x = a.map(name);
  const y = b.map(name);
  const width = b.length + 1;
  const length = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const below = length[(i + 1) * width + j]!;
      const right = length[i * width + j + 1]!;
      length[i * width + j] = x[i] === y[j] ? length[(i + 1) * width + j + 1]! + 1 : Math.max(below, right);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (x[i] === y[j]) pairs.push([i++, j++]);
    else if (length[(i + 1) * width + j]! >= length[i * width + j + 1]!) i++;
    else j++;
  }
  return pairs;
}
