import type { Json } from '../../base/json.ts';
import type { AppendOptions, Entry, LogPage, Logs, ReadOptions } from '../../kernel/logs.ts';
import { checkAfter, checkKey, checkLimit, encodeJson } from '../../kernel/validate-input.ts';
import type { EntryPage } from './log-rows.ts';
import { objectOf } from './objects.ts';
import { rowsInSameObject, type Store, storeInOtherObjects } from './store.ts';

/** Maximum number of entries that a subscriber reads at once. */
const PAGE_ENTRIES = 100;

/** Logs in rows of Durable Objects. */
export class CloudflareLogs implements Logs {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async append(stream: string, data: Json, o: AppendOptions = {}): Promise<number | null> {
    const { expectSeq, id } = o;
    checkKey("a stream's name", stream);
    if (id !== undefined) checkKey("an entry's id", id);
    const json = encodeJson('a log entry', data, this.#store.limits.entryBytes);
    const others = storeInOtherObjects(this.#store, stream, o.with);
    if (others) await others;
    const attached = rowsInSameObject(stream, o.with);
    const { calls, env } = this.#store;
    return calls.ask(objectOf(stream), 'append', stream, json, { expectSeq, id, now: env.now() }, attached);
  }

  async read(stream: string, o: ReadOptions = {}): Promise<LogPage> {
    checkKey("a stream's name", stream);
    const after = checkAfter(o.after);
    const limit = checkLimit(o.limit);
    const entries: Entry[] = [];
    for (let cursor = after, more = true; more; cursor = entries.at(-1)?.seq ?? after) {
      const page = await this.#store.calls.ask(
        objectOf(stream),
        'readEntries',
        stream,
        cursor,
        limit - entries.length,
      );
      entries.push(...parseEntries(page));
      // With `maxBytes`, the caller accepts a short page, so do not make another call to fill it.
      more = page.more && o.maxBytes === undefined;
    }
    return entries[0]?.gap ? { entries, gap: true } : { entries };
  }

  subscribe(stream: string, o: { after?: number; signal: AbortSignal }): AsyncIterable<Entry> {
    checkKey("a stream's name", stream);
    return this.#follow(stream, checkAfter(o.after), AbortSignal.any([o.signal, this.#store.closed]));
  }

  async info(stream: string): Promise<{ first: number; last: number; count: number }> {
    checkKey("a stream's name", stream);
    return this.#store.calls.ask(objectOf(stream), 'streamInfo', stream);
  }

  async trim(stream: string, o: { before: number }): Promise<void> {
    checkKey("a stream's name", stream);
    await this.#store.object(stream).trim(stream, o.before);
  }

  async drop(stream: string): Promise<void> {
    checkKey("a stream's name", stream);
    await this.#store.object(stream).drop(stream);
  }

  async *#follow(stream: string, after: number, signal: AbortSignal): AsyncGenerator<Entry> {
    const ended = new Promise<null>((resolve) => {
      signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    // Request the stub for every call, because `CallBudget` counts a call each time a stub is requested.
    const object = () => this.#store.object(stream);
    const waiter = crypto.randomUUID();
    for (let cursor = after; !signal.aborted; ) {
      const pending = object().awaitEntries(stream, cursor, PAGE_ENTRIES, waiter);
      // Ignore the error: after an abort, nothing awaits this call.
      pending.catch(() => {});
      const page = await Promise.race([pending, ended]);
      // Cancel in the turn in which the signal aborts, because the request ends when its client is gone. Otherwise
      // the open call would last until its timeout.
      if (page === null)
        return this.#store.waitUntil(
          object()
            .giveUp(stream, waiter)
            .catch(() => {}),
        );
      for (const entry of parseEntries(page)) {
        if (signal.aborted) return;
        cursor = entry.seq;
        yield entry;
      }
    }
  }
}

/** Parses the entries of a page. If the page has a gap, marks the first entry. */
export function parseEntries({ entries, gap }: EntryPage): Entry[] {
  return entries.map(({ seq, at, data }, i): Entry => {
    const entry = { seq, at, data: JSON.parse(data) };
    return i === 0 && gap ? { ...entry, gap: true } : entry;
  });
}
