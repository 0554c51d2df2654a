import { RelayError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import {
  childAt,
  isJsonObject,
  isTooDeep,
  type Json,
  type JsonObject,
  joinPath,
  jsonEqual,
  parseIndex,
  parsePath,
} from '../../base/json.ts';
import { JSON_DEPTH } from '../../base/limits.ts';
import { utf8Bytes } from '../../base/utf8.ts';
import { WorkMeter } from '../../base/work-meter.ts';

export interface PatchOp {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: Json;
}

interface PatchOptions {
  /** Returns the reason why a path must not be written, or undefined if it may be. */
  readonly guard?: (segments: readonly string[]) => string | undefined;
  /** Size of the document as JSON in bytes. Measured if the caller does not know it. */
  readonly bytes?: number;
  /**
   * Size limit in bytes. Only documents of more than twice this size are rejected here, because an operation
   * may shrink the document again. The caller checks the size of the result.
   */
  readonly maxBytes?: number;
  /**
   * Counts the work steps of a patch and rejects it if it needs too many. The number of steps grows with the
   * number of operations and with the size of the data that they copy.
   */
  readonly meter?: WorkMeter;
}

export interface Patched {
  readonly doc: Json;
  readonly bytes: number;
  /**
   * Changed children of each top-level member, by the name of the member. `all` means that any child may have changed.
   */
  readonly touched: ReadonlyMap<string, Set<object> | 'all'>;
}

/**
 * Applies a JSON Patch (RFC 6902): all operations or none. The original document stays unchanged; the result shares
 * all unchanged parts with it. Errors name the index and the path of the operation.
 */
export function applyPatch(doc: Json, ops: unknown, o: PatchOptions = {}): Patched {
  if (!Array.isArray(ops)) {
    throw new RelayError('bad_request', { what: 'A patch must be a JSON array of operations.' });
  }
  const draft = new Draft(doc, o.bytes, o.meter ?? new WorkMeter());
  for (const [index, raw] of ops.entries()) {
    const operation = isJsonObject(raw) ? raw : {};
    const where = { index, op: quoteField(operation.op), path: quoteField(operation.path) };
    try {
      if (!applyOperation(draft, operation, o.guard)) throw new RelayError('patch_test_failed', where);
      if (o.maxBytes !== undefined && draft.bytes > 2 * o.maxBytes) {
        throw new PatchProblem(`the document would grow beyond ${o.maxBytes} bytes`);
      }
    } catch (error) {
      if (!(error instanceof PatchProblem)) throw error;
      throw new RelayError('bad_patch', { ...where, what: error.message });
    }
  }
  return { doc: draft.root, bytes: draft.bytes, touched: draft.touched };
}

/**
 * Applies one operation. Returns false if it is a `test` that fails. Throws a `PatchProblem` for any other failure.
 */
function applyOperation(draft: Draft, operation: JsonObject, guard: PatchOptions['guard']): boolean {
  const { op } = operation;
  const path = pathIn(operation, 'path');
  const guarded = (place: string[]) => {
    const reason = guard?.(place);
    if (reason) throw new PatchProblem(reason);
  };
  if (op === 'test') return jsonEqual(findValue(draft, path, 'path'), valueIn(operation));
  if (op === 'copy' || op === 'move') {
    const from = pathIn(operation, 'from');
    guarded(path);
    if (op === 'move') guarded(from);
    const value = findValue(draft, from, 'from');
    if (op === 'copy') draft.share(value);
    if (op === 'move') {
      const within = from.every((segment, i) => segment === path[i]);
      if (within && path.length > from.length) throw new PatchProblem('a value cannot be moved into itself');
      if (within) return true;
      draft.remove(from);
    }
    draft.add(path, value);
    return true;
  }
  if (op !== 'add' && op !== 'replace' && op !== 'remove') {
    throw new PatchProblem('op must be add, remove, replace, move, copy or test');
  }
  guarded(path);
  if (op !== 'add') findValue(draft, path, 'path');
  if (op === 'remove') draft.remove(path);
  else draft[op](path, valueIn(operation));
  return true;
}

function findValue(draft: Draft, path: string[], field: 'path' | 'from'): Json {
  const value = draft.find(path);
  if (value === undefined) throw new PatchProblem(`there is nothing at ${field} "${joinPath(path)}"`);
  return value;
}

function valueIn({ value }: JsonObject): Json {
  if (value === undefined) throw new PatchProblem('value is missing');
  if (isTooDeep(value)) throw new PatchProblem('the value is nested too deeply');
  const bad = forbiddenKey(value);
  if (bad) throw new PatchProblem(`"${bad}" is not allowed as a member name`);
  return value;
}

function pathIn(operation: JsonObject, field: 'path' | 'from'): string[] {
  const text = operation[field];
  if (text === undefined) throw new PatchProblem(`${field} is missing`);
  const segments = typeof text === 'string' ? parsePath(text) : null;
  if (!segments) throw new PatchProblem(`${field} is not a JSON Pointer`);
  if (segments.length > JSON_DEPTH) throw new PatchProblem(`${field} is nested too deeply`);
  const bad = segments.find((segment) => FORBIDDEN.has(segment));
  if (bad) throw new PatchProblem(`"${bad}" is not allowed as a member name`);
  return segments;
}

/** Member names that could change the prototype of a JavaScript object. Documents must not contain them. */
const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

function forbiddenKey(value: Json): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, child] of Object.entries(value)) {
    const bad = !Array.isArray(value) && FORBIDDEN.has(key) ? key : forbiddenKey(child);
    if (bad) return bad;
  }
  return null;
}

function quoteField(field: unknown): string {
  const text = typeof field === 'string' ? field : field === undefined ? '?' : JSON.stringify(field);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

type Container = Json[] | { [key: string]: Json };

/** A problem with one operation. The message describes it. */
class PatchProblem extends Error {}

/** Work steps for one operation. */
const OPERATION = 250;
/** Work steps for each object member that is copied. */
const MEMBER = 150;
/** Work steps per child to measure the size of a container. */
const MEASURED = 8;
/** One work step pays for moving this many array items by one index. */
const SHIFTED = 16;

/**
 * A copy-on-write draft of a document. It copies each container on the path to a change once and then changes the
 * copy in place. If it owns a container, it also owns all containers above it. It tracks the size of the document in
 * bytes. Throws a `PatchProblem` if a change is not possible.
 */
class Draft {
  root: Json;
  bytes: number;
  readonly touched = new Map<string, Set<object> | 'all'>();
  /** Containers that this draft created, each with its number of children. */
  readonly #own = new Map<object, number>();
  readonly #meter: WorkMeter;

  constructor(doc: Json, bytes: number | undefined, meter: WorkMeter) {
    this.root = doc;
    this.bytes = bytes ?? measure(doc, this.#own).bytes;
    this.#meter = meter;
  }

  /**
   * Gives up the draft's ownership of a value that will be in two places of the document. The next change
   * then copies the value and does not change both places.
   */
  share(value: Json): void {
    if (!isContainer(value)) return;
    const count = this.#own.get(value);
    if (count === undefined) return;
    this.#meter.spend(MEASURED * count);
    this.#own.delete(value);
    for (const child of Object.values(value)) this.share(child);
  }

  find(path: readonly string[]): Json | undefined {
    return path.reduce<Json | undefined>(childAt, this.root);
  }

  add(path: readonly string[], value: Json): void {
    this.#meter.spend(OPERATION);
    const parent = path.length === 0 ? null : this.#open(path);
    const key = path.at(-1)!;
    if (parent === null || (!Array.isArray(parent) && Object.hasOwn(parent, key))) {
      this.replace(path, value);
      return;
    }
    this.#weigh(path, value);
    if (Array.isArray(parent)) {
      const index = key === '-' ? parent.length : parseIndex(key);
      if (index === null) throw new PatchProblem(`"${key}" is not an index of an array`);
      if (index > parent.length)
        throw new PatchProblem(
          `index ${index} is beyond the end of the array, which has ${plural(parent.length, 'item')}`,
        );
      this.#meter.spend((parent.length - index) / SHIFTED);
      parent.splice(index, 0, value);
    } else {
      this.bytes += stringBytes(key) + 1;
      parent[key] = value;
    }
    this.#count(parent, 1);
    this.#touch(path, false);
  }

  /** Replaces the value at a path. The value must exist. */
  replace(path: readonly string[], value: Json): void {
    this.#meter.spend(OPERATION);
    if (path.length === 0) {
      this.root = value;
      this.bytes = this.#measure(value).bytes;
      if (isContainer(value)) for (const name of Object.keys(value)) this.touched.set(name, 'all');
      return;
    }
    const parent = this.#open(path);
    const key = path.at(-1)!;
    this.#weigh(path, value);
    this.bytes -= this.#measure(childAt(parent, key)!).bytes;
    setChild(parent, key, value);
    this.#touch(path, false);
  }

  /** Removes the value at a path. The value must exist. */
  remove(path: readonly string[]): void {
    this.#meter.spend(OPERATION);
    if (path.length === 0) throw new PatchProblem('the whole document cannot be removed');
    const parent = this.#open(path);
    const key = path.at(-1)!;
    this.bytes -= this.#measure(childAt(parent, key)!).bytes;
    if (Array.isArray(parent)) {
      this.#meter.spend((parent.length - Number(key)) / SHIFTED);
      parent.splice(Number(key), 1);
    } else {
      this.bytes -= stringBytes(key) + 1;
      delete parent[key];
    }
    this.#count(parent, -1);
    this.#touch(path, true);
  }

  /** Updates the number of children of a container, and the bytes of the commas between them. */
  #count(parent: Container, delta: 1 | -1): void {
    const before = this.#own.get(parent)!;
    this.#own.set(parent, before + delta);
    if (Math.min(before, before + delta) > 0) this.bytes += delta;
  }

  /** Copies all containers on the path and returns the last one, which contains the last segment. */
  #open(path: readonly string[]): Container {
    if (!isContainer(this.root)) throw new PatchProblem('the document is not an object or array');
    let at = this.#owned(this.root);
    this.root = at;
    for (const segment of path.slice(0, -1)) {
      const next = childAt(at, segment);
      if (next === undefined) throw new PatchProblem(`the path does not exist: there is no "${segment}"`);
      if (!isContainer(next)) throw new PatchProblem(`"${segment}" is not an object or array`);
      const copy = this.#owned(next);
      setChild(at, segment, copy);
      at = copy;
    }
    return at;
  }

  #owned(container: Container): Container {
    if (this.#own.has(container)) return container;
    const count = Array.isArray(container) ? container.length : Object.keys(container).length;
    this.#meter.spend(Array.isArray(container) ? count : count * MEMBER);
    const copy = Array.isArray(container) ? container.slice() : { ...container };
    this.#own.set(copy, count);
    return copy;
  }

  /** Measures a value. Results are cached, except for containers that this draft owns, which may still change. */
  #measure(value: Json): Measure {
    return measure(value, {
      has: (container) => {
        const count = this.#own.get(container);
        if (count === undefined) return false;
        this.#meter.spend(MEASURED * count);
        return true;
      },
    });
  }

  #weigh(path: readonly string[], value: Json): void {
    const { bytes, depth } = this.#measure(value);
    if (path.length + depth > JSON_DEPTH) throw new PatchProblem('the document would be nested too deeply');
    this.bytes += bytes;
  }

  #touch(path: readonly string[], removed: boolean): void {
    const first = path[0]!;
    const second = path[1];
    const changed = this.touched.get(first);
    if (changed === 'all' || (removed && path.length === 2)) return;
    const top = childAt(this.root, first);
    const added = second === '-' && Array.isArray(top) ? String(top.length - 1) : second;
    const item = added === undefined ? undefined : childAt(top, added);
    if (!isContainer(item)) this.touched.set(first, 'all');
    else if (changed) changed.add(item);
    else this.touched.set(first, new Set([item]));
  }
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

/** Sets a child. The segment must be an index or name that exists. */
function setChild(container: Container, segment: string, value: Json): void {
  if (Array.isArray(container)) container[Number(segment)] = value;
  else container[segment] = value;
}

interface Measure {
  /** Size of the JSON text without white space, in UTF-8 bytes. */
  readonly bytes: number;
  /** Nesting depth: 0 for a scalar, 1 for a container of scalars. */
  readonly depth: number;
  /** Number of direct items or members. */
  readonly count: number;
}

/**
 * Measures a JSON value without serialising it. Results are cached by object identity, so a shared value is measured
 * once. Containers in `open` may still change, so their results are not cached.
 */
export function measure(value: Json, open: { has(value: object): boolean }): Measure {
  if (typeof value !== 'object' || value === null) return { bytes: scalarBytes(value), depth: 0, count: 0 };
  const cached = memory.get(value);
  if (cached) return cached;
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

function stringBytes(text: string): number {
  return PLAIN.test(text) ? text.length + 2 : utf8Bytes(JSON.stringify(text));
}

const memory = new WeakMap<object, Measure>();
const PLAIN = /^[ !#-[\]-~]*$/;

function scalarBytes(value: string | number | boolean | null): number {
  return typeof value === 'string' ? stringBytes(value) : String(value).length;
}
