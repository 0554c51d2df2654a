import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts';
import type { JsonDocument, JsonPath } from '../../../formats/json-document.ts';
import { jsonEqual } from '../../../formats/json-patch/equal.ts';
import type { Sides } from '../conflicts.ts';
import { openJsonFile } from '../json-file.ts';
import { timeOf } from '../times.ts';

type Value = Json | undefined;

/**
 * Merges a JSON file member by member: lists are joined, entries of a list are known by their `id`, and where both sides
 * changed the same thing the one that was updated later counts. It is laid out as ours is.
 */
export function mergeJsonFile(file: string, { base, ours, theirs }: Sides): string {
  const parsed = (text: string) => (text.trim() === '' ? {} : openJsonFile(file, text).get()!);
  if (ours.trim() === '') return theirs;
  const doc = openJsonFile(file, ours);
  change(doc, [], merge(parsed(base), doc.get(), parsed(theirs), false));
  return doc.text;
}

function merge(base: Value, ours: Value, theirs: Value, theirsLater: boolean): Value {
  if (jsonEqual(ours, theirs) || jsonEqual(base, theirs)) return ours;
  if (jsonEqual(base, ours)) return theirs;
  if (isJsonObject(ours) && isJsonObject(theirs)) {
    return mergeObjects(isJsonObject(base) ? base : {}, ours, theirs, theirsLater);
  }
  if (Array.isArray(ours) && Array.isArray(theirs)) {
    return mergeLists(Array.isArray(base) ? base : [], ours, theirs, theirsLater);
  }
  // What one side took out and the other changed stays.
  if (ours === undefined || theirs === undefined) return ours ?? theirs;
  const [ourTime, theirTime] = [timeOf(ours), timeOf(theirs)];
  if (ourTime !== null && theirTime !== null) return theirTime > ourTime ? theirs : ours;
  return theirsLater ? theirs : ours;
}

function mergeObjects(
  base: JsonObject,
  ours: JsonObject,
  theirs: JsonObject,
  inherited: boolean,
): JsonObject {
  const theirsLater = isLater(theirs, ours) ?? inherited;
  const merged: { [key: string]: Json } = {};
  for (const key of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    const both = [ours[key], theirs[key]];
    const notes = key === 'notes' && both.every((text) => typeof text === 'string' && text !== base[key]);
    const value = notes
      ? joined(...(both as [string, string]))
      : merge(base[key], ours[key], theirs[key], theirsLater);
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}

/** Whether `a` was updated after `b`; undefined where they do not say. */
function isLater(a: JsonObject, b: JsonObject): boolean | undefined {
  const at = (value: JsonObject) => timeOf(value.updated ?? value.last_update);
  const [first, second] = [at(a), at(b)];
  return first === null || second === null ? undefined : first > second;
}

function joined(ours: string, theirs: string): string {
  if (ours.includes(theirs)) return ours;
  return theirs.includes(ours) ? theirs : `${ours}\n${theirs}`;
}

/** Ours in their order, then what is new in theirs. */
function mergeLists(base: Json[], ours: Json[], theirs: Json[], theirsLater: boolean): Json[] {
  const at = (list: readonly Json[], item: Json): Value => list.find((other) => keyOf(other) === keyOf(item));
  const kept = ours.flatMap((item) => {
    const value = merge(at(base, item), item, at(theirs, item), theirsLater);
    return value === undefined ? [] : [value];
  });
  const fresh = theirs.filter((item) => {
    const known = at(base, item);
    return at(ours, item) === undefined && (known === undefined || !jsonEqual(known, item));
  });
  return [...kept, ...fresh];
}

function keyOf(item: Json): string {
  return JSON.stringify(isJsonObject(item) && typeof item.id === 'string' ? { id: item.id } : item);
}

/** Changes the document where it differs from `value`, and leaves the rest as it is written. */
function change(doc: JsonDocument, path: JsonPath, value: Value): void {
  const now = doc.get(path);
  if (jsonEqual(now, value)) return;
  if (isJsonObject(now) && isJsonObject(value)) {
    for (const key of Object.keys(now)) if (!(key in value)) doc.remove([...path, key]);
    for (const [key, member] of Object.entries(value)) change(doc, [...path, key], member);
  } else if (Array.isArray(now) && Array.isArray(value)) {
    for (let index = now.length - 1; index >= value.length; index--) doc.remove([...path, index]);
    value.forEach((item, index) => {
      if (index < now.length) change(doc, [...path, index], item);
      else doc.append(path, item);
    });
  } else if (value !== undefined) doc.set(path, value);
}
