import type { Json } from '../../base/json.ts';
import { parseIndex } from '../../base/json-pointer.ts';
import { JSON_DEPTH } from '../../base/limits.ts';
import { measure, stringBytes } from './measure.ts';

type Container = Json[] | { [key: string]: Json };

/**
 * A document being changed, copy-on-write: only the containers on the way to a change are copied, once, and then
 * changed in place. Keeps count of the bytes. Its changes answer null, or what is wrong.
 */
export class Draft {
  root: Json;
  bytes: number;
  readonly touched = new Map<string, Set<object> | 'all'>();
  /** The containers that this draft made itself, with the number of their children. */
  #own = new Map<object, number>();

  constructor(doc: Json, bytes?: number) {
    this.root = doc;
    this.bytes = bytes ?? measure(doc, this.#own).bytes;
  }

  /** From here on everything there is counts as shared. */
  seal(): void {
    this.#own = new Map();
  }

  find(path: readonly string[]): Json | undefined {
    let value: Json | undefined = this.root;
    for (const segment of path) value = isContainer(value) ? child(value, segment) : undefined;
    return value;
  }

  add(path: readonly string[], value: Json): string | null {
    if (path.length === 0) return this.#setRoot(value);
    const parent = this.#open(path);
    if (typeof parent === 'string') return parent;
    const key = path.at(-1)!;
    const tooDeep = this.#weigh(path, value);
    if (tooDeep) return tooDeep;
    if (Array.isArray(parent)) {
      const index = key === '-' ? parent.length : parseIndex(key);
      if (index === null) return `"${key}" is not an index of an array`;
      if (index > parent.length) return `index ${index} is beyond the ${parent.length} there are`;
      if (index === parent.length) parent.push(value);
      else parent.splice(index, 0, value);
      this.#count(parent, 1);
    } else if (Object.hasOwn(parent, key)) {
      this.bytes -= measure(parent[key]!, this.#own).bytes;
      parent[key] = value;
    } else {
      this.bytes += stringBytes(key) + 1;
      parent[key] = value;
      this.#count(parent, 1);
    }
    this.#touch(path, false);
    return null;
  }

  /** The value at the path exists. */
  replace(path: readonly string[], value: Json): string | null {
    if (path.length === 0) return this.#setRoot(value);
    const parent = this.#open(path) as Container;
    const tooDeep = this.#weigh(path, value);
    if (tooDeep) return tooDeep;
    const key = path.at(-1)!;
    this.bytes -= measure(child(parent, key)!, this.#own).bytes;
    if (Array.isArray(parent)) parent[Number(key)] = value;
    else parent[key] = value;
    this.#touch(path, false);
    return null;
  }

  /** The value at the path exists. */
  remove(path: readonly string[]): string | null {
    if (path.length === 0) return 'the whole document cannot be removed';
    const parent = this.#open(path) as Container;
    const key = path.at(-1)!;
    this.bytes -= measure(child(parent, key)!, this.#own).bytes;
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else {
      this.bytes -= stringBytes(key) + 1;
      delete parent[key];
    }
    this.#count(parent, -1);
    this.#touch(path, true);
    return null;
  }

  /** Keeps the number of children, and the commas between them. */
  #count(parent: Container, delta: 1 | -1): void {
    const before = this.#own.get(parent)!;
    this.#own.set(parent, before + delta);
    if (Math.min(before, before + delta) > 0) this.bytes += delta;
  }

  #setRoot(value: Json): null {
    this.root = value;
    this.bytes = measure(value, this.#own).bytes;
    if (isContainer(value)) for (const key of Object.keys(value)) this.touched.set(key, 'all');
    return null;
  }

  /** The container that holds the last segment, with everything on the way made our own. */
  #open(path: readonly string[]): Container | string {
    if (!isContainer(this.root)) return 'the document is not an object or array';
    let at = this.#owned(this.root);
    this.root = at;
    for (const segment of path.slice(0, -1)) {
      const next = child(at, segment);
      if (next === undefined) return `there is no "${segment}" on the way`;
      if (!isContainer(next)) return `"${segment}" is not an object or array`;
      const copy = this.#owned(next);
      if (Array.isArray(at)) at[Number(segment)] = copy;
      else at[segment] = copy;
      at = copy;
    }
    return at;
  }

  #owned(container: Container): Container {
    if (this.#own.has(container)) return container;
    const copy = Array.isArray(container) ? container.slice() : { ...container };
    this.#own.set(copy, Array.isArray(copy) ? copy.length : Object.keys(copy).length);
    return copy;
  }

  #weigh(path: readonly string[], value: Json): string | null {
    const { bytes, depth } = measure(value, this.#own);
    if (path.length + depth > JSON_DEPTH) return 'the document would be nested too deeply';
    this.bytes += bytes;
    return null;
  }

  #touch(path: readonly string[], removed: boolean): void {
    const first = path[0]!;
    const second = path[1];
    const known = this.touched.get(first);
    if (known === 'all' || (removed && path.length === 2)) return;
    const top = isContainer(this.root) ? child(this.root, first) : undefined;
    const item =
      isContainer(top) && second !== undefined
        ? child(top, second === '-' && Array.isArray(top) ? String(top.length - 1) : second)
        : undefined;
    if (!isContainer(item)) this.touched.set(first, 'all');
    else if (known) known.add(item);
    else this.touched.set(first, new Set([item]));
  }
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null;
}

function child(container: Container, segment: string): Json | undefined {
  if (!Array.isArray(container)) return Object.hasOwn(container, segment) ? container[segment] : undefined;
  const index = parseIndex(segment);
  return index === null ? undefined : container[index];
}
