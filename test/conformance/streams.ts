import type { Json } from '../../src/base/json.ts';
import type { Entry, Logs } from '../../src/kernel/logs.ts';
import { ok, same } from './assert.ts';

/** A subscription whose entries a case takes one by one. */
export interface Follower {
  /** Waits for the next `count` entries. Fails if the subscription ends earlier. */
  take(count: number): Promise<Entry[]>;
  /** Aborts the subscription and returns the entries that still arrive. */
  stop(): Promise<Entry[]>;
}

export function follow(logs: Logs, stream: string, after?: number): Follower {
  const abort = new AbortController();
  const iterator = logs.subscribe(stream, { after, signal: abort.signal })[Symbol.asyncIterator]();
  return {
    async take(count) {
      const entries: Entry[] = [];
      while (entries.length < count) {
        const next = await iterator.next();
        ok(!next.done, `the subscription ended after ${entries.length} of ${count} entries`);
        entries.push(next.value);
      }
      return entries;
    },
    async stop() {
      abort.abort();
      const entries: Entry[] = [];
      for (let next = await iterator.next(); !next.done; next = await iterator.next())
        entries.push(next.value);
      return entries;
    },
  };
}

/** Reads all entries of a stream page by page. */
export async function readAll(logs: Logs, stream: string): Promise<Entry[]> {
  const all: Entry[] = [];
  for (;;) {
    const { entries } = await logs.read(stream, { after: all.at(-1)?.seq ?? 0, limit: 1000 });
    if (entries.length === 0) return all;
    all.push(...entries);
  }
}

/** Appends values one after the other and returns their sequence numbers. */
export async function appendAll(logs: Logs, stream: string, items: readonly Json[]): Promise<number[]> {
  const sequences: number[] = [];
  for (const item of items) {
    const seq = await logs.append(stream, item);
    ok(seq !== null, 'nothing was expected, so nothing can be refused');
    sequences.push(seq);
  }
  return sequences;
}

export function ascending(entries: readonly { seq: number }[]): void {
  for (let i = 1; i < entries.length; i++) {
    ok(entries[i]!.seq > entries[i - 1]!.seq, `${entries[i]!.seq} follows ${entries[i - 1]!.seq}`);
  }
}

/**
 * Checks that an entry is marked with `gap` if and only if entries before it are missing. `all` are the sequence
 * numbers of all entries that ever existed.
 */
export function gapsMarked(all: readonly number[], entries: readonly Entry[], after: number): void {
  let before = after;
  for (const { seq, gap } of entries) {
    const missed = all.filter((each) => each > before && each < seq).length;
    same(gap ?? false, missed > 0, `${missed} are missing before ${seq}, so its gap`);
    before = seq;
  }
}
