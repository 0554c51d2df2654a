import type { Json } from '../base/json.ts';
import type { Entry, Logs } from '../kernel/logs.ts';
import type { Records, Staged } from '../kernel/records.ts';

/** `T` itself if JSON can express it. The compiler rejects a `T` with functions or methods. */
type Plain<T> = { [K in keyof T]: PlainValue<T[K]> };
type PlainValue<V> = V extends Json | undefined
  ? V
  : V extends (...args: never[]) => unknown
    ? never
    : Plain<V>;

/** `Records` whose values have the type `T`. */
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
 * Returns the same store with typed values. Nothing is checked at run time: this code, or an earlier version, wrote
 * the records.
 */
export function recordsOf<T extends Plain<T>>(records: Records): RecordsOf<T> {
  return records as unknown as RecordsOf<T>;
}

/** Yields all records below a prefix after the key `after`, in key order, in pages of `limit`. */
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

/** Concurrent lookups per page, so that a distant store is not asked one by one. */
const AT_ONCE = 64;

/**
 * Yields the result of `look` for each item, in order. If at most `most` results are wanted, all lookups run in one
 * batch.
 */
export async function* lookUpAll<T, R>(
  items: AsyncIterable<T>,
  look: (item: T) => Promise<R>,
  most = AT_ONCE,
): AsyncGenerator<R> {
  let batch: T[] = [];
  const looked = () => {
    const looking = batch.map(look);
    // A failure is thrown when the consumer reaches it.
    for (const found of looking) found.catch(() => {});
    batch = [];
    return looking;
  };
  for await (const item of items) if (batch.push(item) >= Math.min(most, AT_ONCE)) yield* looked();
  yield* looked();
}

const ENTRIES = 500;

/** Yields all entries of a log after `after`, oldest first, page by page. */
export async function* entriesBehind(logs: Logs, stream: string, after: number): AsyncGenerator<Entry> {
  for (let from = after; ; ) {
    const { entries } = await logs.read(stream, { after: from, limit: ENTRIES });
    yield* entries;
    if (entries.length < ENTRIES) return;
    from = entries.at(-1)!.seq;
  }
}

/**
 * Selects one entry in `many`. The sequence is hashed, because sequences have holes and some remainders might never
 * occur.
 */
export function isOneIn(many: number, seq: number): boolean {
  return (Math.imul(seq, 0x9e3779b1) >>> 16) % many === 0;
}

/** Casts a value to JSON. An interface lacks the index signature that the compiler would need. */
export function asJson<T extends Plain<T>>(value: T): Json {
  return value as unknown as Json;
}

/** Casts back a value that was stored with `asJson`. Nothing is checked. */
export function fromJson<T extends Plain<T>>(value: Json | undefined): T {
  return value as unknown as T;
}
