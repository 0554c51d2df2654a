import { compareKeys } from '../../kernel/admission.ts';
import type { Stored } from './connection.ts';
import { filterOf, keyOf } from './names.ts';
import type { Store } from './store.ts';

/** Messages that one answer gives at most; JetStream's own limit is 1024. */
const ANSWER = 500;
/** Subjects that the server names in one answer. */
const DETAILS = 100_000;

/** The last messages of the subjects of a stream, by the keys that the subjects stand for. */
export class Listing {
  readonly #store: Store;
  readonly #stream: string;
  readonly #prefix: string;

  /** `prefix`: what the subjects begin with, with its dot. */
  constructor(store: Store, stream: string, prefix: string) {
    this.#store = store;
    this.#stream = stream;
    this.#prefix = prefix;
  }

  /**
   * In key order. The leader names the keys that there are; their messages come in batches. `toItem` gives null for what does
   * not count, so a page looks at more keys than it gives.
   */
  async page<Item extends { readonly key: string }>(
    prefix: string,
    o: { after: string | undefined; limit: number },
    toItem: (message: Stored, key: string | null) => Item | null,
  ): Promise<{ items: Item[]; next?: string }> {
    const { subjects, last } = await this.#subjects(prefix.includes('/') ? filterOf(prefix) : '>');
    const keys = await this.#keys(subjects, last, toItem);
    const behind = (key: string) => o.after === undefined || compareKeys(key, o.after) > 0;
    const wanted = keys.filter(({ key }) => key.startsWith(prefix) && behind(key));
    wanted.sort((a, b) => compareKeys(a.key, b.key));
    const items: Item[] = [];
    for (let at = 0; at < wanted.length && items.length <= o.limit; ) {
      const part = wanted.slice(at, at + Math.min(ANSWER, o.limit + 1 - items.length));
      at += part.length;
      const found = await this.#messages(
        part.map(({ subject }) => subject),
        last,
      );
      for (const { key, subject } of part) {
        const message = found.get(subject);
        const item = message && toItem(message, key);
        if (item) items.push(item);
      }
    }
    if (items.length <= o.limit) return { items };
    const page = items.slice(0, o.limit);
    return { items: page, next: page.at(-1)!.key };
  }

  /** Every message under a filter, in no order. */
  async *all(filter: string): AsyncGenerator<Stored> {
    const { subjects, last } = await this.#subjects(filter);
    for (let at = 0; at < subjects.length; at += ANSWER) {
      yield* (await this.#messages(subjects.slice(at, at + ANSWER), last)).values();
    }
  }

  /** The subjects as the leader knows them, and the last sequence that it had given out by then. */
  async #subjects(filter: string): Promise<{ subjects: string[]; last: number }> {
    const subjects: string[] = [];
    for (let offset = 0; ; offset += DETAILS) {
      const info = await this.#store.connection.api(`STREAM.INFO.${this.#stream}`, {
        subjects_filter: this.#prefix + filter,
        ...(offset > 0 ? { offset } : {}),
      });
      const state = info!.state as { last_seq: number; subjects?: { [subject: string]: number } };
      const names = Object.keys(state.subjects ?? {});
      subjects.push(...names);
      if (names.length < DETAILS) return { subjects, last: state.last_seq };
    }
  }

  /** Hashed subjects say their key in the message only. */
  async #keys(
    subjects: readonly string[],
    last: number,
    toItem: (message: Stored, key: null) => { key: string } | null,
  ): Promise<{ key: string; subject: string }[]> {
    const keys: { key: string; subject: string }[] = [];
    const hashed: string[] = [];
    for (const subject of subjects) {
      const key = keyOf(subject.slice(this.#prefix.length));
      if (key === null) hashed.push(subject);
      else keys.push({ key, subject });
    }
    for (let at = 0; at < hashed.length; at += ANSWER) {
      for (const [subject, message] of await this.#messages(hashed.slice(at, at + ANSWER), last)) {
        const item = toItem(message, null);
        if (item) keys.push({ key: item.key, subject });
      }
    }
    return keys;
  }

  /** Any server may answer for the others, if it has got as far as the leader had when it named the subjects. */
  async #messages(subjects: readonly string[], last: number): Promise<Map<string, Stored>> {
    const { connection } = this.#store;
    const found = new Map<string, Stored>();
    let rest = [...subjects];
    while (rest.length > 0) {
      const batch = await connection.batch(this.#stream, { multi_last: rest, batch: ANSWER });
      if (batch === null || batch.upTo < last || batch.messages.length === 0) break;
      for (const message of batch.messages) found.set(message.subject, message);
      // An answer ends early where it would get too large.
      const missing = rest.filter((subject) => !found.has(subject));
      if (missing.length === 0 || batch.messages.length === rest.length) return found;
      rest = missing;
    }
    const single = await Promise.all(rest.map((subject) => connection.last(this.#stream, subject)));
    for (const message of single) if (message) found.set(message.subject, message);
    return found;
  }
}
