import type { PutOptions } from '../kernel/records.ts';
import type { Deps } from './deps.ts';
import type { RecordsOf } from './records.ts';

const PAGE = 100;

/**
 * Index of items by the time at which they expire or, like delayed messages, become due. The earliest item comes
 * first. One index contains the items of all tenants. If an item is also stored elsewhere, its index entry is written
 * first, and the entry may stay after the item was deleted.
 */
export class EndIndex<T> {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #prefix: `sys.${string}/`;
  readonly #ends: RecordsOf<T>;

  constructor(deps: Pick<Deps, 'engine' | 'env'>, prefix: `sys.${string}/`) {
    this.#deps = deps;
    this.#prefix = prefix;
    this.#ends = deps.engine.records as unknown as RecordsOf<T>;
  }

  async note(at: number, name: string, what: T, o: Pick<PutOptions, 'frees'> = {}): Promise<void> {
    await this.#ends.put(this.#key(at, name), what, o);
  }

  /** Removes the entry of an item that was deleted before it expired or that now expires at another time. */
  async forget(at: number, name: string): Promise<void> {
    await this.#ends.delete(this.#key(at, name));
  }

  async hasDue(): Promise<boolean> {
    return (await this.#due(1)).length > 0;
  }

  /** Calls `remove` for each item that has expired or is due, and then deletes the entry of the item. */
  async forDue(remove: (what: T) => Promise<void>): Promise<void> {
    for (;;) {
      const due = await this.#due(PAGE);
      for (const { key, value } of due) {
        await remove(value);
        await this.#ends.delete(key);
      }
      if (due.length < PAGE) return;
    }
  }

  #key(at: number, name: string): string {
    return `${this.#prefix}${String(at).padStart(15, '0')}/${name}`;
  }

  async #due(limit: number) {
    const { items } = await this.#ends.list(this.#prefix, { limit });
    return items.filter(
      ({ key }) => Number(key.slice(this.#prefix.length).split('/')[0]) <= this.#deps.env.now(),
    );
  }
}
