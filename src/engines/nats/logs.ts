import { hash } from 'node:crypto';
import { isRelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import type { AppendOptions, Entry, LogPage, Logs, ReadOptions } from '../../kernel/logs.ts';
import { checkKey, checkLimit, encodeJson } from '../../kernel/validate-input.ts';
import { publishWhenFreed } from './account-storage.ts';
import type { Stored as Message, PublishOptions } from './connection.ts';
import type { LiveFeed } from './live-feed.ts';
import { encodeEntry, entryOf, seqOf, tokenOf } from './messages.ts';
import type { Store } from './opening.ts';

/** What a subscriber is given at once, however far behind it is. */
const BATCH = 64;

/** Bytes after which an answer ends, so that a page of large entries comes in several. */
const ANSWER_BYTES = 8 * 1024 * 1024;

/**
 * A log is a subject of one stream for all of them. An entry with an id is stored together with a mark on a subject that the
 * id names, right before it: the mark is there as long as the entry, and its sequence tells that of the entry.
 *
 * An entry that came from another store has kept its sequence, which is then in its message. All of those are below the
 * stream's first sequence (`Store.firstSeq`), so that a number tells by itself which kind it is, and both kinds grow along a log.
 */
export class NatsLogs implements Logs {
  readonly #store: Store;
  readonly #feed: LiveFeed;
  readonly #stream: string;

  constructor(store: Store, feed: LiveFeed) {
    this.#store = store;
    this.#feed = feed;
    this.#stream = store.streams.logs;
  }

  async append(stream: string, data: Json, o: AppendOptions = {}): Promise<number | null> {
    checkKey("a stream's name", stream);
    if (o.id !== undefined) checkKey("an entry's id", o.id);
    const json = encodeJson('a log entry', data, this.#store.limits.entryBytes);
    const subject = this.#subject(stream);
    const payload = encodeEntry(stream, this.#store.env.now(), json, { id: o.id });
    const expect = await this.#expected(subject, o.expectSeq);
    if (o.id !== undefined) return this.#appendOnce(subject, payload, this.#mark(stream, o.id), expect);
    return expect === null ? null : this.#append(subject, payload, { expect, frees: o.frees });
  }

  async read(stream: string, o: ReadOptions = {}): Promise<LogPage> {
    checkKey("a stream's name", stream);
    const limit = checkLimit(o.limit);
    const entries: Entry[] = [];
    // One answer takes so many bytes: who asked for more entries gets them all the same, since fewer would say that there are no more.
    for (
      let after = o.after ?? 0, more = true;
      more && entries.length < limit;
      after = entries.at(-1)?.seq ?? after
    ) {
      const page = await this.#page(stream, after, limit - entries.length, o.maxBytes);
      entries.push(...page.entries);
      more = page.more && o.maxBytes === undefined;
    }
    return entries[0]?.gap ? { entries, gap: true } : { entries };
  }

  subscribe(stream: string, o: { after?: number; signal: AbortSignal }): AsyncIterable<Entry> {
    checkKey("a stream's name", stream);
    const token = tokenOf(stream);
    const read = async (after: number) => (await this.#page(stream, after, BATCH)).entries;
    return this.#feed.follow(token, o.after ?? 0, o.signal, read);
  }

  async info(stream: string): Promise<{ first: number; last: number; count: number }> {
    checkKey("a stream's name", stream);
    const subject = this.#subject(stream);
    const { connection } = this.#store;
    for (;;) {
      const [first, last, count] = await Promise.all([
        connection.next(this.#stream, subject, 1),
        connection.last(this.#stream, subject),
        this.#count(subject),
      ]);
      if (!first && !last && count === 0) return { first: 0, last: 0, count: 0 };
      // Between the three answers it may have been dropped or begun; then they do not fit together.
      if (first && last && count > 0) return { first: seqOf(first), last: seqOf(last), count };
    }
  }

  async trim(stream: string, o: { before: number }): Promise<void> {
    checkKey("a stream's name", stream);
    const { connection } = this.#store;
    const subject = this.#subject(stream);
    const last = await connection.last(this.#stream, subject);
    if (!last) return;
    const before = Math.min(await this.place(subject, o.before - 1), last.seq);
    const trimmed = await this.#lastBefore(subject, before);
    if (trimmed === null) return;
    // Told first, so that a reader never misses that something is missing.
    const isNoted = await this.noteTrimmed(stream, seqOf(trimmed)).then(
      () => true,
      (error) => {
        if (!isRelayError(error, 'store_full')) throw error;
        return false;
      },
    );
    await this.#purge(subject, before);
    if (!isNoted) await this.noteTrimmed(stream, seqOf(trimmed), true);
    // A mark stands right before its entry.
    await this.#purge(`${this.#marks(stream)}.*`, before - 1);
  }

  async drop(stream: string): Promise<void> {
    checkKey("a stream's name", stream);
    await this.#purge(this.#subject(stream));
    await this.#purge(`${this.#marks(stream)}.*`);
    await this.#store.connection.api(`STREAM.PURGE.${this.#store.streams.records}`, {
      filter: this.#trimmedSubject(stream),
    });
    this.#feed.forget(tokenOf(stream));
  }

  /** Entries of all streams. */
  async count(): Promise<number> {
    return this.#count(`${this.#store.name}.l.>`);
  }

  #subject(stream: string): string {
    return `${this.#store.name}.l.${tokenOf(stream)}`;
  }

  #marks(stream: string): string {
    return `${this.#store.name}.i.${tokenOf(stream)}`;
  }

  #mark(stream: string, id: string): string {
    return `${this.#marks(stream)}.${hash('sha256', id, 'base64url')}`;
  }

  /** A record of the engine's own: up to which sequence entries were trimmed away. */
  #trimmedSubject(stream: string): string {
    return `${this.#store.name}.t.${tokenOf(stream)}`;
  }

  /** The place in the stream of the last entry that is expected; null where another one is the last. */
  async #expected(subject: string, seq: number | undefined): Promise<number | undefined | null> {
    if (seq === undefined || seq <= 0 || seq >= this.#store.firstSeq) return seq;
    const last = await this.#store.connection.last(this.#stream, subject);
    return last && seqOf(last) === seq ? last.seq : null;
  }

  /** From where on in the stream the entries behind a sequence are. */
  async place(subject: string, after: number): Promise<number> {
    const { connection, firstSeq } = this.#store;
    if (after <= 0 || after >= firstSeq) return after + 1;
    const last = await connection.last(this.#stream, subject);
    let [low, high] = [firstSeq, (last?.seq ?? 0) + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const found = await connection.next(this.#stream, subject, middle);
      if (!found || seqOf(found) > after) high = middle;
      else low = found.seq + 1;
    }
    return low;
  }

  async #append(subject: string, payload: Uint8Array, o: PublishOptions): Promise<number | null> {
    for (;;) {
      const seq = await this.#store.connection.publish(subject, payload, o);
      if (seq !== null) return seq;
      // Lost to one who in the end did not append either is not lost.
      if ((await this.#last(subject)) !== o.expect) return null;
    }
  }

  async #appendOnce(subject: string, payload: Uint8Array, mark: string, expect: number | undefined | null) {
    // Whoever expects an empty stream cannot be the second with an id.
    if (expect !== undefined && expect !== 0) {
      const first = await this.#entryOf(mark);
      if (first !== null) return first;
    }
    if (expect === null) return null;
    const before = { subject: mark, data: MARK, expect: 0 };
    for (;;) {
      const seq = await this.#store.connection.publish(subject, payload, { expect, before });
      if (seq !== null) return seq;
      const first = await this.#entryOf(mark);
      if (first !== null) return first;
      if (expect !== undefined && (await this.#last(subject)) !== expect) return null;
    }
  }

  async #entryOf(mark: string): Promise<number | null> {
    const found = await this.#store.connection.last(this.#stream, mark);
    // That of an entry which has kept its sequence says it.
    return found && (Number(Buffer.from(found.data).toString()) || found.seq + 1);
  }

  async #last(subject: string): Promise<number> {
    return (await this.#store.connection.last(this.#stream, subject))?.seq ?? 0;
  }

  /** The last entry below a sequence: near that by any server, and then on along the leader's. */
  async #lastBefore(subject: string, before: number): Promise<Message | null> {
    if (before <= 1) return null;
    const ask = { multi_last: [subject], up_to_seq: before - 1 };
    let found = (await this.#store.connection.batch(this.#stream, ask))?.messages[0] ?? null;
    for (;;) {
      const next = await this.#store.connection.next(this.#stream, subject, (found?.seq ?? 0) + 1);
      if (!next || next.seq >= before) return found;
      found = next;
    }
  }

  async #count(filter: string): Promise<number> {
    let sum = 0;
    for (const count of (await this.counts(filter)).values()) sum += count;
    return sum;
  }

  /** How many messages the subjects have. */
  async counts(filter: string): Promise<Map<string, number>> {
    const all = new Map<string, number>();
    for (let offset = 0; ; ) {
      const ask = { subjects_filter: filter, ...(offset > 0 ? { offset } : {}) };
      const info = await this.#store.connection.api(`STREAM.INFO.${this.#stream}`, ask);
      const { subjects = {} } = info!.state as { subjects?: { [subject: string]: number } };
      const counts = Object.entries(subjects);
      for (const [subject, count] of counts) all.set(subject, count);
      offset += counts.length;
      if (counts.length === 0 || offset >= ((info!.total as number | undefined) ?? 0)) return all;
    }
  }

  /** What lies below a sequence, or everything. */
  async #purge(filter: string, before?: number): Promise<void> {
    if (before !== undefined && before <= 1) return;
    const ask = { filter, ...(before === undefined ? {} : { seq: before }) };
    await this.#store.connection.api(`STREAM.PURGE.${this.#stream}`, ask);
  }

  /** Records up to where a log was trimmed, so that readers are told about the gap. With `waits` it retries until the freed room is usable. */
  async noteTrimmed(stream: string, seq: number, waits = false): Promise<void> {
    const { connection } = this.#store;
    const subject = this.#trimmedSubject(stream);
    for (;;) {
      const found = await connection.last(this.#store.streams.records, subject);
      if (found && trimmedOf(found) >= seq) return;
      const expect = found?.seq ?? 0;
      const note = Buffer.from(String(seq));
      const stored = waits
        ? await publishWhenFreed(connection, subject, note, { expect })
        : await connection.publish(subject, note, { expect, frees: true });
      if (stored !== null) return;
    }
  }

  /**
   * The leader names the last entry and what was trimmed; the entries come in one answer of whichever server is nearest, and
   * count where that server has got as far as the leader.
   */
  /** `more`: it has fewer than were asked for, because they are large. */
  async #page(
    stream: string,
    after: number,
    limit: number,
    maxBytes = ANSWER_BYTES,
  ): Promise<{ entries: Entry[]; more: boolean }> {
    // An answer that ends early is more than half full then, which tells it from one that ends where the replica does.
    const answerBytes = Math.min(Math.max(maxBytes, 3 * this.#store.limits.entryBytes), ANSWER_BYTES);
    const { connection, streams } = this.#store;
    const subject = this.#subject(stream);
    const from = await this.place(subject, after);
    const [last, trimmed, batch] = await Promise.all([
      connection.last(this.#stream, subject),
      connection.last(streams.records, this.#trimmedSubject(stream)),
      connection.batch(this.#stream, {
        ...{ seq: from, next_by_subj: subject },
        ...{ batch: limit, max_bytes: answerBytes },
      }),
    ]);
    if (!last || seqOf(last) <= after) return { entries: [], more: false };
    let messages = batch?.messages ?? [];
    const reached = messages.length === limit || (messages.at(-1)?.seq ?? 0) >= last.seq;
    const large = messages.reduce((sum, { data }) => sum + data.length, 0) >= answerBytes / 2;
    if (!reached && !large) messages = await this.#fromLeader(subject, from, last.seq, limit);
    const gone = trimmed ? trimmedOf(trimmed) : 0;
    const entries = messages.map((message, i): Entry => {
      const { id: _, ...entry } = entryOf(message);
      return i === 0 && after < gone && gone < entry.seq ? { ...entry, gap: true } : entry;
    });
    return { entries, more: !reached && large };
  }

  /** One by one, as far as it had come. */
  async #fromLeader(subject: string, from: number, last: number, limit: number): Promise<Message[]> {
    const messages: Message[] = [];
    for (let seq = from; seq <= last && messages.length < limit; ) {
      const message = await this.#store.connection.next(this.#stream, subject, seq);
      if (!message) break;
      messages.push(message);
      seq = message.seq + 1;
    }
    return messages;
  }
}

const MARK = new TextEncoder().encode('.');

function trimmedOf(message: Message): number {
  return Number(Buffer.from(message.data).toString());
}
