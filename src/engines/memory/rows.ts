import type { Env } from '../../base/env.ts';
import { compareKeys } from '../../kernel/admission.ts';

/** Rows by key, of which those that have expired are invisible. */
export class Rows<Row extends { readonly expiresAt: number | undefined }> {
  readonly #rows = new Map<string, Row>();
  readonly #env: Env;

  constructor(env: Env) {
    this.#env = env;
  }

  get(key: string): Row | undefined {
    const row = this.#rows.get(key);
    return row && (row.expiresAt === undefined || row.expiresAt > this.#env.now()) ? row : undefined;
  }

  set(key: string, row: Row): void {
    this.#rows.set(key, row);
  }

  delete(key: string): boolean {
    return this.#rows.delete(key);
  }

  /** All of them, also what has expired. */
  all(): Row[] {
    return [...this.#rows.values()];
  }

  /** The rows with the prefix that come after `after`, in the order of their keys. */
  page<Item extends { readonly key: string }>(
    prefix: string,
    o: { after: string | undefined; limit: number },
    toItem: (key: string, row: Row) => Item,
  ): { items: Item[]; next?: string } {
    const behind = (key: string) => o.after === undefined || compareKeys(key, o.after) > 0;
    const keys = [...this.#rows.keys()].filter(
      (key) => key.startsWith(prefix) && behind(key) && this.get(key),
    );
    const items = keys.sort(compareKeys).slice(0, o.limit);
    const page = { items: items.map((key) => toItem(key, this.#rows.get(key)!)) };
    return keys.length > o.limit ? { ...page, next: items.at(-1)! } : page;
  }

  /** Forgets what has expired, and gives it. */
  sweep(): Row[] {
    const expired = [...this.#rows].filter(([key]) => !this.get(key));
    for (const [key] of expired) this.#rows.delete(key);
    return expired.map(([, row]) => row);
  }
}
