import type { Json } from '../base/json.ts';
import type { Entry, Logs } from '../kernel/logs.ts';
import type { Records, Staged } from '../kernel/records.ts';

/** `T` itself where JSON can express it. A field that is a function or has methods makes the compiler refuse `T`. */
type Plain<T> = { [K in keyof T]: PlainValue<T[K]> };
type PlainValue<V> = V extends Json | undefined
  ? V
  : V extends (...args: never[]) => unknown
    ? never
    : Plain<V>;

/** The records of one kind: `Records` whose values are known to be of type `T`. */
export interface RecordsOf<T> extends Omit<Records, 'get' | 'put' | 'stage' | 'list'> {
  get(key: string): Promise<{ readonly value: T; readonly revision: number } | null>;
  put(key: string, value: T, o?: Parameters<Records['put']>[2]): Promise<number | null>;
  stage(key: string, value: T): Promise<Staged>;
  list(
    prefix: string,
    o?: Parameters<Records['list']>[1],
  ): Promise<{ readonly items: RecordOf<T>[]; readonly next?: string }>;
}

export interface RecordOf<T> {
  readonly key: string;
  readonly value: T;
  readonly revision: number;
}

/**
 * The same store, seen through the type of what is kept under some of its keys. Nothing is checked when it runs: what a
 * record holds was written by this code, or by an earlier version of it.
 */
export function recordsOf<T extends Plain<T>>(records: Records): RecordsOf<T> {
  return records as unknown as RecordsOf<T>;
}

/** Every record below a prefix, in key order, from behind `after` on, read page by page of `limit` records. */
export async function* allRecords<T>(
  records: RecordsOf<T>,
  prefix: string,
  o: { after?: string; limit?: number } = {},
): AsyncGenerator<RecordOf<T>> {
  for (let { after } = o; ; ) {
    const page = await records.list(prefix, { after, limit: o.limit ?? 1000 });
    yield* page.items;
    if (page.next === undefined) return;
    after = page.next;
  }
}

/** What a page asks about at once, so that it does not wait for each in turn where the store is far away. */
const AT_ONCE = 64;

/** What `look` finds out about each item, in their order; `most` at once, in one turn, where no more than that are wanted. */
export async function* lookedUp<T, R>(
  items: AsyncIterable<T>,
  look: (item: T) => Promise<R>,
  most = AT_ONCE,
): AsyncGenerator<R> {
  let batch: T[] = [];
  const looked = () => {
    const looking = batch.map(look);
    // Told to whoever gets to it.
    for (const found of looking) found.catch(() => {});
    batch = [];
    return looking;
  };
  for await (const item of items) if (batch.push(item) >= Math.min(most, AT_ONCE)) yield* looked();
  yield* looked();
}

const ENTRIES = 500;

/** Every entry of a log behind `after`, oldest first, read page by page. */
export async function* entriesBehind(logs: Logs, stream: string, after: number): AsyncGenerator<Entry> {
  for (let from = after; ; ) {
    const { entries } = await logs.read(stream, { after: from, limit: ENTRIES });
    yield* entries;
    if (entries.length < ENTRIES) return;
    from = entries.at(-1)!.seq;
  }
}

/** Whether it is the turn of an entry to do what one in so many does. Sequences have holes, and some remainders may never come. */
export function isOneIn(many: number, seq: number): boolean {
  return (Math.imul(seq, 0x9e3779b1) >>> 16) % many === 0;
}

/** A value whose type says that it is JSON, though an interface has no index signature for the compiler to see it by. */
export function asJson<T extends Plain<T>>(value: T): Json {
  return value as unknown as Json;
}

/** What this code once stored with `asJson`. Nothing is checked. */
export function fromJson<T extends Plain<T>>(value: Json | undefined): T {
  return value as unknown as T;
}
