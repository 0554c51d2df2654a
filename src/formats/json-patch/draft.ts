import { childAt, type Json, parseIndex } from '../../base/json.ts';
import { JSON_DEPTH } from '../../base/limits.ts';
import type { WorkMeter } from '../../base/work-meter.ts';
import { type Measure, measure, stringBytes } from './measure.ts';

type Container = Json[] | { [key: string]: Json };

/** What is wrong with an operation, in words. */
export class PatchProblem extends Error {}

/** Steps for one operation, for each member of an object that is copied, and for each child of a container that is measured. */
const OPERATION = 250;
const MEMBER = 150;
const MEASURED = 8;
/** Items that are moved along within an array cost one step together. */
const SHIFTED = 16;

/**
 * A document being changed, copy-on-write: only the containers on the way to a change are copied, once, and then
 * changed in place. A container that this draft copied is its own, and so is the container that holds it.
 * Keeps count of the bytes. A change that cannot be made throws a `PatchProblem`.
 */
export class Draft {
  root: Json;
  bytes: number;
  readonly touched = new Map<string, Set<object> | 'all'>();
  /** The containers that this draft made itself, with the number of their children. */
  readonly #own = new Map<object, number>();
  readonly #meter: WorkMeter;

  constructor(doc: Json, bytes: number | undefined, meter: WorkMeter) {
    this.root = doc;
    this.bytes = bytes ?? measure(doc, this.#own).bytes;
    this.#meter = meter;
  }

  /** A value that is about to stand in two places: nothing in it may be changed in place any more. */
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
        throw new PatchProblem(`index ${index} is beyond the ${parent.length} there are`);
      this.#meter.spend((parent.length - index) / SHIFTED);
      parent.splice(index, 0, value);
    } else {
      this.bytes += stringBytes(key) + 1;
      parent[key] = value;
    }
    this.#count(parent, 1);
    this.#touch(path, false);
  }

  /** The value at the path exists. */
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

  /** The value at the path exists. */
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

  /** Keeps the number of children, and the commas between them. */
  #count(parent: Container, delta: 1 | -1): void {
    const before = this.#own.get(parent)!;
    this.#own.set(parent, before + delta);
    if (Math.min(before, before + delta) > 0) this.bytes += delta;
  }

  /** The container that holds the last segment, with everything on the way made our own. */
  #open(path: readonly string[]): Container {
    if (!isContainer(this.root)) throw new PatchProblem('the document is not an object or array');
    let at = this.#owned(this.root);
    this.root = at;
    for (const segment of path.slice(0, -1)) {
      const next = childAt(at, segment);
      if (next === undefined) throw new PatchProblem(`there is no "${segment}" on the way`);
      if (!isContainer(next)) throw new PatchProblem(`"${segment}" is not an object or array`);
      const copy = this.#owned(next);
      setChild(at, segment, copy);
      at = copy;
    }
    return at;
  }

  #owned(container: Container): Container {
    if (this.#own.has(container)) return container;
    const { count } = this.#measure(container);
    this.#meter.spend(Array.isArray(container) ? count : count * MEMBER);
    const copy = Array.isArray(container) ? container.slice() : { ...container };
    this.#own.set(copy, count);
    return copy;
  }

  /** Measures what is our own anew each time; the rest is remembered. */
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
    const known = this.touched.get(first);
    if (known === 'all' || (removed && path.length === 2)) return;
    const top = childAt(this.root, first);
    const added = second === '-' && Array.isArray(top) ? String(top.length - 1) : second;
    const item = added === undefined ? undefined : childAt(top, added);
    if (!isContainer(item)) this.touched.set(first, 'all');
    else if (known) known.add(item);
    else this.touched.set(first, new Set([item]));
  }
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

/** The segment is an index or a name that `childAt` has found. */
function setChild(container: Container, segment: string, value: Json): void {
  if (Array.isArray(container)) container[Number(segment)] = value;
  else container[segment] = value;
}
