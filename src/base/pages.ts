import { PAGE_ITEMS_MAX } from './limits.ts';

type Page<K extends string, T> = { readonly [name in K]: readonly T[] } & { readonly next?: string };
type ReadPage<K extends string, T> = (o: { after?: string; limit: number }) => Promise<Page<K, T>>;

/** Yields all items of a paged list. `name` is the field of a page that contains the items. */
export async function* everyItem<K extends string, T>(
  name: K,
  read: ReadPage<K, T>,
  limit = PAGE_ITEMS_MAX,
): AsyncGenerator<T> {
  for (let after: string | undefined; ; ) {
    const page: Page<K, T> = await read({ after, limit });
    yield* page[name];
    if (page.next === undefined) return;
    after = page.next;
  }
}

/** Returns at most `most` items of a paged list, and whether there are more. */
export async function firstItems<K extends string, T>(
  name: K,
  most: number,
  read: ReadPage<K, T>,
): Promise<{ items: T[]; more?: true }> {
  const items: T[] = [];
  // Request one item more than needed, to find out whether the list has more items.
  for await (const item of everyItem(name, read, Math.min(PAGE_ITEMS_MAX, most + 1))) {
    if (items.length === most) return { items, more: true };
    items.push(item);
  }
  return { items };
}
