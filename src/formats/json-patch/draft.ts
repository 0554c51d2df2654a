import type { Json } from '../../base/json.ts';
import { parseIndex } from '../../base/json-pointer.ts';
import { JSON_DEPTH } from '../../base/limits.ts';
import { measure, stringBytes } from './measure.ts';

type Container = Json[] | { [key: string]: Json };

/**
 * A document being changed, copy-on-write: only the containers on the way to a change are copied, once, and then
 * changed in place. Its changes answer null, or what is wrong.
 */
export class Draft {
  root: Json;
  /** First segment → the children that were written to, or `all`. */
  readonly touched = new Map<string, Set<object> | 'all'>();
  /** The containers that this draft made itself. */
  #own = new Set<object>();
  /** What the document takes as JSON, or more: what was put in is added, what was taken out is not subtracted. */
  #atMost: number;

  constructor(doc: Json) {
    this.root = doc;
    this.#atMost = this.bytes();
  }

  /** From here on everything there is counts as shared. */
  seal(): void {
    this.#own = new Set();
  }

  /** Bytes of the document as JSON. */
  bytes(): number {
    return measure(this.root, this.#own).bytes;
  }

  /** Measures only where it may be so. */
  isLargerThan(bytes: number): boolean {
    if (this.#atMost > bytes) this.#atMost = this.bytes();
    return this.#atMost > bytes;
  }

  find(path: readonly string[]): Json | undefined {
    let value: Json | undefined = this.root;
    for (const segment of path) value = isContainer(value) ? child(value, segment) : undefined;
    return value;
  }

  /** Inserts an item, or sets a member. With `replace` there is a value at the path, which gives way. */
  put(path: readonly string[], value: Json, o: { readonly replace: boolean }): string | null {
    if (path.length === 0) return this.#setRoot(value);
    const parent = this.#open(path);
    if (typeof parent === 'string') return parent;
    const key = path.at(-1)!;
    const { bytes, depth } = measure(value, this.#own);
    if (path.length + depth > JSON_DEPTH) return 'the document would be nested too deeply';
    if (Array.isArray(parent)) {
      const index = key === '-' ? parent.length : parseIndex(key);
      if (index === null) return `"${key}" is not an index of an array`;
      if (index > parent.length) return `index ${index} is beyond the ${parent.length} there are`;
      parent.splice(index, o.replace ? 1 : 0, value);
    } else parent[key] = value;
    this.#atMost += bytes + stringBytes(key) + 2;
    this.#touch(path);
    return null;
  }

  /** There is a value at the path. */
  remove(path: readonly string[]): string | null {
    if (path.length === 0) return 'the whole document cannot be removed';
    const parent = this.#open(path) as Container;
    const key = path.at(-1)!;
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
    if (path.length !== 2) this.#touch(path);
    return null;
  }

  #setRoot(value: Json): null {
    this.root = value;
    this.#atMost = this.bytes();
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
    this.#own.add(copy);
    return copy;
  }

  #touch([first, second]: readonly string[]): void {
    const known = this.touched.get(first!);
    if (known === 'all') return;
    const list = child(this.root as Container, first!);
    const place = second === '-' && Array.isArray(list) ? String(list.length - 1) : second;
    const item = isContainer(list) && place !== undefined ? child(list, place) : undefined;
    if (!isContainer(item)) this.touched.set(first!, 'all');
    else if (known) known.add(item);
    else this.touched.set(first!, new Set([item]));
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
