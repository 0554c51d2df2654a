import type { Json } from '../base/json.ts';
import { everyItem } from '../base/pages.ts';
import type { Entry, Logs } from '../kernel/logs.ts';
import type { Records, Staged } from '../kernel/records.ts';

/**
 * `T` itself if JSON can represent it. Otherwise, for example for a `T` with methods, the compiler reports
 * an error.
 */
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
 * Returns the records port with values of the type `T`. Nothing is checked at run time, because only this
 * version of the relay or an earlier one has written the records.
 */
export function recordsOf<T extends Plain<T>>(records: Records): RecordsOf<T> {
  return records as unknown as RecordsOf<T>;
}

/**
 * Yields all records whose keys begin with `prefix`, in key order. If `after` is given, it yields only the
 * records after this key. It reads `limit` records per page, and passes `contains` to `Records.list`.
 */
export function allRecords<T>(
  records: RecordsOf<T>,
  prefix: string,
  { limit, ...o }: { after?: string; limit?: number; contains?: string } = {},
): AsyncGenerator<RecordOf<T>> {
  return everyItem(
    'items',
    ({ after = o.after, ...page }) => records.list(prefix, { ...o, ...page, after }),
    limit,
  );
}

/**
 * Maximum number of lookups that run at the same time. One lookup after the other would be slow with a remote
 * store.
 */
const AT_ONCE = 64;

/**
 * Yields the result of `look` for each item, in the order of the items. Lookups run concurrently in batches of at most
 * `most` items. A consumer that needs only `most` results then causes few needless lookups.
 */
export async function* lookUpAll<T, R>(
  items: AsyncIterable<T>,
  look: (item: T) => Promise<R>,
  most = AT_ONCE,
): AsyncGenerator<R> {
  let batch: T[] = [];
  const looked = () => {
    const looking = batch.map(look);
    // The consumer gets the error when it reaches this result. Handle a rejection before then, otherwise
    // the runtime reports it as unhandled.
    for (const found of looking) found.catch(() => {});
    batch = [];
    return looking;
  };
  for await (const item of items) if (batch.push(item) >= Math.min(most, AT_ONCE)) yield* looked();
  yield* looked();
}

const ENTRIES = 500;

/**
 * Yields all entries of a log whose sequence is greater than `after`, oldest first. It reads the log page by
 * page.
 */
export async function* entriesBehind(logs: Logs, stream: string, after: number): AsyncGenerator<Entry> {
  for (let from = after; ; ) {
    const { entries } = await logs.read(stream, { after: from, limit: ENTRIES });
    yield* entries;
    if (entries.length < ENTRIES) return;
    from = entries.at(-1)!.seq;
  }
}

/**
 * Selects on average one log entry in `many`. The sequence is hashed first: the sequences of an engine have
 * holes, so some values of `seq % many` might never occur.
 */
export function isOneIn(many: number, seq: number): boolean {
  return (Math.imul(seq, 0x9e3779b1) >>> 16) % many === 0;
}

/**
 * Casts a value to `Json`. The compiler does not accept an interface as `Json`, because an interface has no
 * index signature.
 */
export function asJson<T extends Plain<T>>(value: T): Json {
  return value as unknown as Json;
}

/** Casts a value that was stored with `asJson` back to its type. Nothing is checked at run time. */
export function fromJson<T extends Plain<T>>(value: Json | undefined): T {
  return value as unknown as T;
}
