import { pause } from '../../base/pause.ts';
import { compareKeys } from '../../kernel/validate-input.ts';
import type { Stored } from './connection.ts';
import type { Change, Folder } from './local-index.ts';
import { filterOf, keyOf, subjectOf } from './messages.ts';
import type { Store } from './opening.ts';

/** Messages that one answer gives at most; JetStream's own limit is 1024. */
const ANSWER = 500;
/** Bytes after which an answer ends. */
const ANSWER_BYTES = 8 * 1024 * 1024;
/** Subjects that the server names in one answer. */
const NAMED = 100_000;
/** By how much such answers overlap: so many may go between two of them before one that stays is missed, which is noticed. */
const OVERLAP = 1_000;
/** A folder of more names than this is known to the server that lists it, instead of asking for all names each time. */
const SMALL = 1_000;
/** How often another server is tried where one lags behind, before the leader is asked for each message. */
const TRIES = 3;
const LAG_MS = 5;

/** Gives null for what does not count. The key is null where only the message itself tells it. */
type ToItem<Item> = (message: Stored, key: string | null) => Item | null;

interface Names {
  readonly subjects: string[];
  /** How many there are, all in all. */
  readonly total: number;
  /** The last sequence that the leader had given out before it named them. */
  readonly last: number;
  /** The stream, with when it was made. */
  readonly stream: string;
}

/** The last messages of the subjects of a stream, by the keys that the subjects stand for. */
export class Listing<Item extends { readonly key: string }> {
  readonly #store: Store;
  readonly #stream: string;
  readonly #prefix: string;
  readonly #toItem: ToItem<Item>;
  readonly #learning = new Map<string, Promise<void>>();

  /** `prefix`: what the subjects begin with, with its dot. */
  constructor(store: Store, stream: string, prefix: string, toItem: ToItem<Item>) {
    this.#store = store;
    this.#stream = stream;
    this.#prefix = prefix;
    this.#toItem = toItem;
  }

  /**
   * In key order. Of a small folder the leader names all keys that there are; those of a large one are known here, and the leader
   * tells what has changed. Messages come in batches, and a page looks at more keys than it gives where some do not count.
   */
  async page(
    prefix: string,
    o: { after: string | undefined; limit: number },
  ): Promise<{ items: Item[]; next?: string }> {
    const filter = this.#prefix + (prefix.includes('/') ? filterOf(prefix) : '>');
    const known = this.#store.folders.find(filter);
    const { subjects, last, stream, total } = await this.#names(known ? null : filter);
    const items: Item[] = [];
    const isFull = () => items.length > o.limit;
    if (!known && total <= SMALL) {
      const keys = await this.#keys(subjects, last);
      const wanted = keys.filter((key) => key.startsWith(prefix) && isBehind(key, o.after));
      wanted.sort(compareKeys);
      for (let at = 0; at < wanted.length && !isFull(); ) {
        const part = wanted.slice(at, at + Math.min(ANSWER, o.limit + 1 - items.length));
        at += part.length;
        for (const item of (await this.#items(part, last)).values()) items.push(item);
      }
    } else {
      const folder = await this.#follow(filter, stream, last);
      for (let after = o.after; !isFull(); ) {
        const first = after === o.after;
        const size = first ? Math.min(ANSWER, o.limit + 1) : ANSWER;
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

  /** Every message under a filter, answer by answer, in no order; where there are very many, some of them twice. */
  async *all(filter: string): AsyncGenerator<{ messages: Stored[]; last: number }> {
    for await (const { subjects, last } of this.#allNames(this.#prefix + filter)) {
      for (let at = 0; at < subjects.length; at += ANSWER) {
        const found = await this.messages(subjects.slice(at, at + ANSWER), last);
        yield { messages: [...found.values()], last };
      }
    }
  }

  /**
   * The last messages of subjects, by subject. Any server may answer for the leader, if it has got as far as the leader had when it
   * named them.
   */
  async messages(subjects: readonly string[], last: number): Promise<Map<string, Stored>> {
    const { connection } = this.#store;
    const found = new Map<string, Stored>();
    let rest = [...subjects];
    for (let tries = 1; rest.length > 0; ) {
      const ask = { multi_last: rest, batch: ANSWER, max_bytes: ANSWER_BYTES };
      const batch = await connection.batch(this.#stream, ask);
      // Whether one that has none of them lags behind it does not say.
      if (batch === null) break;
      if (batch.upTo < last) {
        if (++tries > TRIES) break;
        await pause(LAG_MS * tries);
        continue;
      }
      for (const message of batch.messages) found.set(message.subject, message);
      // An answer ends early where it would get too large.
      if (batch.pending === 0) return found;
      rest = rest.filter((subject) => !found.has(subject));
    }
    const single = await Promise.all(rest.map((subject) => connection.last(this.#stream, subject)));
    for (const message of single) if (message) found.set(message.subject, message);
    return found;
  }

  /** Of these keys, in their order, what counts. */
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

  /** The folder, with every name that the leader had at a sequence. */
  async #follow(filter: string, stream: string, last: number): Promise<Folder> {
    const { connection, folders } = this.#store;
    for (;;) {
      const folder = folders.find(filter);
      if (folder?.stream !== stream || folder.seq < 0) {
        await this.#learnOnce(filter, stream);
        continue;
      }
      if (folder.seq >= last) return folder;
      const from = folder.seq + 1;
      const [next, batch] = await Promise.all([
        connection.next(this.#stream, filter, from),
        connection.batch(this.#stream, {
          ...{ seq: from, next_by_subj: filter, batch: ANSWER, max_bytes: ANSWER_BYTES },
        }),
      ]);
      if (next === null || next.seq > last) folders.change(folder, [], last);
      else {
        // One that lags behind may know nothing of it yet.
        const heard = batch?.messages.length ? batch.messages : [next];
        folders.change(folder, this.#changes(heard), heard.at(-1)!.seq);
      }
    }
  }

  /** Whoever wants it meanwhile waits for the same. */
  async #learnOnce(filter: string, stream: string): Promise<void> {
    let learning = this.#learning.get(filter);
    if (!learning) {
      learning = this.#learn(filter, stream).finally(() => this.#learning.delete(filter));
      this.#learning.set(filter, learning);
    }
    await learning;
  }

  /** Takes over all names. */
  async #learn(filter: string, stream: string): Promise<void> {
    const { folders } = this.#store;
    const folder = folders.begin(filter, stream);
    let upTo: number | undefined;
    for await (const { subjects, last } of this.#allNames(filter)) {
      upTo ??= last;
      await folders.add(folder, await this.#keys(subjects, last), last);
    }
    folders.learnt(folder, upTo!);
  }

  #changes(messages: readonly Stored[]): Change[] {
    return messages.flatMap((message) => {
      const key = keyOf(message.subject.slice(this.#prefix.length));
      const item = this.#toItem(message, key);
      // Of a hashed subject that no longer counts nobody knows the key; who reads it finds out.
      if (!item && key === null) return [];
      return [{ key: item?.key ?? key!, seq: message.seq, live: item !== null }];
    });
  }

  /** Some of the subjects as the leader knows them, in their order; none with null, but how far it is. */
  async #names(filter: string | null, offset = 0): Promise<Names> {
    const ask = filter === null ? {} : { subjects_filter: filter, ...(offset > 0 ? { offset } : {}) };
    const info = (await this.#store.connection.api(`STREAM.INFO.${this.#stream}`, ask))!;
    const state = info.state as { last_seq: number; subjects?: { [subject: string]: number } };
    return {
      subjects: Object.keys(state.subjects ?? {}).sort(),
      total: (info.total as number | undefined) ?? 0,
      last: state.last_seq,
      stream: `${this.#stream} ${info.created}`,
    };
  }

  /** All subjects under a filter, answer by answer, some of them twice. */
  async *#allNames(filter: string): AsyncGenerator<Names> {
    let seen: string | undefined;
    for (let offset = 0; ; ) {
      const names = await this.#names(filter, offset);
      const [first, end] = [names.subjects[0], names.subjects.at(-1)];
      // So many went meanwhile that some may lie between this answer and the one before.
      const torn = seen !== undefined && (first === undefined || first > seen);
      if (!torn) yield names;
      if (!torn && names.subjects.length < NAMED) return;
      seen = torn ? undefined : end;
      offset = torn ? 0 : offset + NAMED - OVERLAP;
    }
  }

  /** Hashed subjects say their key in the message only. */
  async #keys(subjects: readonly string[], last: number): Promise<string[]> {
    const keys: string[] = [];
    const hashed: string[] = [];
    for (const subject of subjects) {
      const key = keyOf(subject.slice(this.#prefix.length));
      if (key === null) hashed.push(subject);
      else keys.push(key);
    }
    for (let at = 0; at < hashed.length; at += ANSWER) {
      for (const message of (await this.messages(hashed.slice(at, at + ANSWER), last)).values()) {
        const item = this.#toItem(message, null);
        if (item) keys.push(item.key);
      }
    }
    return keys;
  }
}

function isBehind(key: string, after: string | undefined): boolean {
  return after === undefined || compareKeys(key, after) > 0;
}
