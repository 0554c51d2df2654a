import { pause } from '../../base/pause.ts';
import { compareKeys } from '../../kernel/validate-input.ts';
import type { Message } from './connection.ts';
import type { Change, Folder } from './local-index.ts';
import { filterOf, keyOf, subjectOf } from './messages.ts';
import type { Store } from './opening.ts';

/** Maximum number of messages per batch request. JetStream allows 1024. */
const BATCH_MESSAGES = 500;
/** Number of bytes after which JetStream ends a batch. */
const BATCH_BYTES = 8 * 1024 * 1024;
/** Number of subjects in one page of `STREAM.INFO`, as NATS defines it. */
const SUBJECTS_PAGE = 100_000;
/**
 * Number of subjects by which two pages overlap. Deletions between two requests shift the pages. If the shift exceeds
 * the overlap, the listing starts again.
 */
const SUBJECTS_OVERLAP = 1_000;
/**
 * Maximum number of keys in a small folder. A small folder is always read from the leader. A larger folder is cached
 * in the local index.
 */
const SMALL_FOLDER_KEYS = 1_000;
/**
 * Maximum number of attempts to read from a replica that lags. After the last attempt, each message is read from the
 * leader.
 */
const REPLICA_ATTEMPTS = 3;
/** The pause before attempt n is n times this many ms. */
const LAG_PAUSE_MS = 5;

/**
 * Converts a message to an item. Returns null for a tombstone or an expired item. If `key` is null, the subject
 * contains a hash, and the message contains the key.
 */
type ToItem<Item> = (message: Message, key: string | null) => Item | null;

/** One page of the subjects of a stream, read from the leader. */
interface SubjectPage {
  readonly subjects: string[];
  /** Number of subjects on all pages. */
  readonly total: number;
  /** Last sequence of the stream at the time of the page. */
  readonly last: number;
  /** Name and creation time of the stream. The value changes if the stream is deleted and created again. */
  readonly stream: string;
}

/** Lists the last message of every subject of a stream, in the order of the keys that the subjects encode. */
export class Listing<Item extends { readonly key: string }> {
  readonly #store: Store;
  readonly #stream: string;
  readonly #prefix: string;
  readonly #toItem: ToItem<Item>;
  readonly #loading = new Map<string, Promise<void>>();

  /** `prefix` is the common start of the subjects, including the final dot. */
  constructor(store: Store, stream: string, prefix: string, toItem: ToItem<Item>) {
    this.#store = store;
    this.#stream = stream;
    this.#prefix = prefix;
    this.#toItem = toItem;
  }

  /**
   * Returns one page of items in key order. The keys of a small folder come from the leader. The keys of a large
   * folder are cached in the local index, and the leader sends only changes. Some keys have no live item, so messages
   * are read in batches until the page is full.
   */
  async page(
    prefix: string,
    o: { after: string | undefined; limit: number },
  ): Promise<{ items: Item[]; next?: string }> {
    const filter = this.#prefix + (prefix.includes('/') ? filterOf(prefix) : '>');
    const isCached = this.#store.folders.find(filter) !== undefined;
    const { subjects, last, stream, total } = await this.#subjectPage(isCached ? null : filter);
    const items: Item[] = [];
    const isFull = () => items.length > o.limit;
    if (!isCached && total <= SMALL_FOLDER_KEYS) {
      const keys = await this.#keys(subjects, last);
      const matching = keys.filter((key) => key.startsWith(prefix) && isAfter(key, o.after));
      matching.sort(compareKeys);
      for (let at = 0; at < matching.length && !isFull(); ) {
        const part = matching.slice(at, at + Math.min(BATCH_MESSAGES, o.limit + 1 - items.length));
        at += part.length;
        for (const item of (await this.#items(part, last)).values()) items.push(item);
      }
    } else {
      const folder = await this.#syncFolder(filter, stream, last);
      for (let after = o.after; !isFull(); ) {
        const first = after === o.after;
        const size = first ? Math.min(BATCH_MESSAGES, o.limit + 1) : BATCH_MESSAGES;
        const names = this.#store.folders.page(folder, prefix, after, size);
        const found = await this.#items(
          names.map(({ key }) => key),
          last,
        );
        for (const item of found.values()) items.push(item);
        this.#store.folders.drop(
          folder,
          names.filter(({ key }) => !found.has(key)),
        );
        if (names.length < size) break;
        after = names.at(-1)!.key;
      }
    }
    if (!isFull()) return { items };
    const page = items.slice(0, o.limit);
    return { items: page, next: page.at(-1)!.key };
  }

  /**
   * Yields the last messages of all subjects that match a filter, in unordered batches. In a very large stream, a
   * message may come twice.
   */
  async *all(filter: string): AsyncGenerator<{ messages: Message[]; last: number }> {
    for await (const { subjects, last } of this.#subjectPages(this.#prefix + filter)) {
      for (let at = 0; at < subjects.length; at += BATCH_MESSAGES) {
        const found = await this.messages(subjects.slice(at, at + BATCH_MESSAGES), last);
        yield { messages: [...found.values()], last };
      }
    }
  }

  /**
   * Reads the last messages of subjects from a replica that has at least sequence `last`, otherwise from the leader.
   */
  async messages(subjects: readonly string[], last: number): Promise<Map<string, Message>> {
    const { connection } = this.#store;
    const messages = new Map<string, Message>();
    let rest = [...subjects];
    for (let tries = 1; rest.length > 0; ) {
      const request = { multi_last: rest, batch: BATCH_MESSAGES, max_bytes: BATCH_BYTES };
      const batch = await connection.batch(this.#stream, request);
      // Without a matching message, the replica does not report its last sequence. So ask the leader.
      if (batch === null) break;
      if (batch.upTo < last) {
        if (++tries > REPLICA_ATTEMPTS) break;
        await pause(LAG_PAUSE_MS * tries);
        continue;
      }
      for (const message of batch.messages) messages.set(message.subject, message);
      // A batch may end early at its byte limit. `pending` is then the number of messages that are left.
      if (batch.pending === 0) return messages;
      rest = rest.filter((subject) => !messages.has(subject));
    }
    const single = await Promise.all(rest.map((subject) => connection.last(this.#stream, subject)));
    for (const message of single) if (message) messages.set(message.subject, message);
    return messages;
  }

  /** Returns the live items of keys, in the order of the keys. */
  async #items(keys: readonly string[], last: number): Promise<Map<string, Item>> {
    const subjects = keys.map((key) => this.#prefix + subjectOf(key));
    const found = await this.messages(subjects, last);
    const items = new Map<string, Item>();
    for (const [i, key] of keys.entries()) {
      const message = found.get(subjects[i]!);
      const item = message && this.#toItem(message, key);
      if (item) items.set(key, item);
    }
    return items;
  }

  /** Applies all changes up to sequence `last` to a cached folder and returns the folder. */
  async #syncFolder(filter: string, stream: string, last: number): Promise<Folder> {
    const { connection, folders } = this.#store;
    for (;;) {
      const folder = folders.find(filter);
      if (folder?.stream !== stream || folder.seq < 0) {
        await this.#loadFolderOnce(filter, stream);
        continue;
      }
      if (folder.seq >= last) return folder;
      const from = folder.seq + 1;
      const [next, batch] = await Promise.all([
        connection.next(this.#stream, filter, from),
        connection.batch(this.#stream, {
          seq: from,
          next_by_subj: filter,
          batch: BATCH_MESSAGES,
          max_bytes: BATCH_BYTES,
        }),
      ]);
      if (next === null || next.seq > last) folders.change(folder, [], last);
      else {
        // A replica that lags may not have the changes yet. Then apply only the next message, which came from the
        // leader.
        const newer = batch?.messages.length ? batch.messages : [next];
        folders.change(folder, this.#changes(newer), newer.at(-1)!.seq);
      }
    }
  }

  /** Loads the keys of a folder. Concurrent callers wait for the same load. */
  async #loadFolderOnce(filter: string, stream: string): Promise<void> {
    let loading = this.#loading.get(filter);
    if (!loading) {
      loading = this.#loadFolder(filter, stream).finally(() => this.#loading.delete(filter));
      this.#loading.set(filter, loading);
    }
    await loading;
  }

  /** Reads all keys of a folder from the leader into the local index. */
  async #loadFolder(filter: string, stream: string): Promise<void> {
    const { folders } = this.#store;
    const folder = folders.begin(filter, stream);
    let upTo: number | undefined;
    for await (const { subjects, last } of this.#subjectPages(filter)) {
      upTo ??= last;
      await folders.add(folder, await this.#keys(subjects, last), last);
    }
    folders.markLoaded(folder, upTo!);
  }

  #changes(messages: readonly Message[]): Change[] {
    return messages.flatMap((message) => {
      const key = keyOf(message.subject.slice(this.#prefix.length));
      const item = this.#toItem(message, key);
      // A deletion whose subject is only a hash does not say which key it deletes. Report no change: `page` drops the
      // key later, because it finds no item for it.
      if (!item && key === null) return [];
      return [{ key: item?.key ?? key!, seq: message.seq, live: item !== null }];
    });
  }

  /**
   * Reads one page of subjects from the leader. If the filter is null, reads only the state of the stream.
   */
  async #subjectPage(filter: string | null, offset = 0): Promise<SubjectPage> {
    const request = filter === null ? {} : { subjects_filter: filter, ...(offset > 0 ? { offset } : {}) };
    const { created, state, total = 0 } = await this.#store.connection.info(this.#stream, request);
    const subjects = Object.keys(state.subjects ?? {}).sort();
    return { subjects, total, last: state.last_seq, stream: `${this.#stream} ${created}` };
  }

  /** Yields all subjects that match a filter, in pages. A subject may come twice. */
  async *#subjectPages(filter: string): AsyncGenerator<SubjectPage> {
    let seen: string | undefined;
    for (let offset = 0; ; ) {
      const names = await this.#subjectPage(filter, offset);
      const [first, end] = [names.subjects[0], names.subjects.at(-1)];
      // If too many subjects were deleted meanwhile, the pages do not overlap. Then start again.
      const hasGap = seen !== undefined && (first === undefined || first > seen);
      if (!hasGap) yield names;
      if (!hasGap && names.subjects.length < SUBJECTS_PAGE) return;
      seen = hasGap ? undefined : end;
      offset = hasGap ? 0 : offset + SUBJECTS_PAGE - SUBJECTS_OVERLAP;
    }
  }

  /** Converts subjects to keys. If a subject contains a hash, reads the key from the message. */
  async #keys(subjects: readonly string[], last: number): Promise<string[]> {
    const keys: string[] = [];
    const hashed: string[] = [];
    for (const subject of subjects) {
      const key = keyOf(subject.slice(this.#prefix.length));
      if (key === null) hashed.push(subject);
      else keys.push(key);
    }
    for (let at = 0; at < hashed.length; at += BATCH_MESSAGES) {
      for (const message of (await this.messages(hashed.slice(at, at + BATCH_MESSAGES), last)).values()) {
        const item = this.#toItem(message, null);
        if (item) keys.push(item.key);
      }
    }
    return keys;
  }
}

function isAfter(key: string, after: string | undefined): boolean {
  return after === undefined || compareKeys(key, after) > 0;
}
