import { hash } from 'node:crypto';
import type { Json } from '../../base/json.ts';
import { checkKey, checkLimit, encodeJson } from '../../kernel/admission.ts';
import type { AppendOptions, Entry, LogPage, Logs } from '../../kernel/logs.ts';
import type { Stored as Message } from './connection.ts';
import { entryOf, type LiveFeed } from './live-feed.ts';
import { tokenOf } from './names.ts';
import type { Store } from './store.ts';

/** What a subscriber is given at once, however far behind it is. */
const BATCH = 64;

/** Bytes after which an answer ends, so that a page of large entries comes in several. */
const ANSWER_BYTES = 8 * 1024 * 1024;

/**
 * A log is a subject of one stream for all of them. An entry with an id is stored together with a mark on a subject that the
 * id names, right before it: the mark is there as long as the entry, and its sequence tells that of the entry.
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
    const payload = Buffer.from(`${this.#store.env.now()}\n${json}`);
    return o.id === undefined
      ? this.#append(subject, payload, o.expectSeq)
      : this.#appendOnce(subject, payload, this.#mark(stream, o.id), o.expectSeq);
  }

  async read(stream: string, o: { after?: number; limit?: number } = {}): Promise<LogPage> {
    checkKey("a stream's name", stream);
    const entries = await this.#page(stream, o.after ?? 0, checkLimit(o.limit));
    return entries[0]?.gap ? { entries, gap: true } : { entries };
  }

  subscribe(stream: string, o: { after?: number; signal: AbortSignal }): AsyncIterable<Entry> {
    checkKey("a stream's name", stream);
    const token = tokenOf(stream);
    return this.#feed.follow(token, o.after ?? 0, o.signal, (after) => this.#page(stream, after, BATCH));
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
      if (first && last && count > 0) return { first: first.seq, last: last.seq, count };
    }
  }

  async trim(stream: string, o: { before: number }): Promise<void> {
    checkKey("a stream's name", stream);
    const { connection } = this.#store;
    const subject = this.#subject(stream);
    const last = await connection.last(this.#stream, subject);
    if (!last) return;
    const before = Math.min(o.before, last.seq);
    const trimmed = await this.#lastBefore(subject, before);
    if (trimmed === 0) return;
    // Told first, so that a reader never misses that something is missing.
    await this.#noteTrimmed(stream, trimmed);
    await this.#purge(subject, before);
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

  async #append(subject: string, payload: Uint8Array, expect: number | undefined): Promise<number | null> {
    for (;;) {
      const seq = await this.#store.connection.publish(subject, payload, { expect });
      if (seq !== null) return seq;
      // Lost to one who in the end did not append either is not lost.
      if ((await this.#last(subject)) !== expect) return null;
    }
  }

  async #appendOnce(subject: string, payload: Uint8Array, mark: string, expect: number | undefined) {
    // Whoever expects an empty stream cannot be the second with an id.
    if (expect !== undefined && expect !== 0) {
      const first = await this.#entryOf(mark);
      if (first !== null) return first;
    }
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
    return found && found.seq + 1;
  }

  async #last(subject: string): Promise<number> {
    return (await this.#store.connection.last(this.#stream, subject))?.seq ?? 0;
  }

  /** The last entry below a sequence: near that by any server, and then on along the leader's. */
  async #lastBefore(subject: string, before: number): Promise<number> {
    if (before <= 1) return 0;
    const ask = { multi_last: [subject], up_to_seq: before - 1 };
    let seq = (await this.#store.connection.batch(this.#stream, ask))?.messages[0]?.seq ?? 0;
    for (;;) {
      const next = await this.#store.connection.next(this.#stream, subject, seq + 1);
      if (!next || next.seq >= before) return seq;
      seq = next.seq;
    }
  }

  async #count(filter: string): Promise<number> {
    let sum = 0;
    for (let offset = 0; ; ) {
      const ask = { subjects_filter: filter, ...(offset > 0 ? { offset } : {}) };
      const info = await this.#store.connection.api(`STREAM.INFO.${this.#stream}`, ask);
      const { subjects = {} } = info!.state as { subjects?: { [subject: string]: number } };
      const counts = Object.values(subjects);
      for (const count of counts) sum += count;
      offset += counts.length;
      if (counts.length === 0 || offset >= ((info!.total as number | undefined) ?? 0)) return sum;
    }
  }

  /** What lies below a sequence, or everything. */
  async #purge(filter: string, before?: number): Promise<void> {
    if (before !== undefined && before <= 1) return;
    const ask = { filter, ...(before === undefined ? {} : { seq: before }) };
    await this.#store.connection.api(`STREAM.PURGE.${this.#stream}`, ask);
  }

  async #noteTrimmed(stream: string, seq: number): Promise<void> {
    const { connection } = this.#store;
    const subject = this.#trimmedSubject(stream);
    for (;;) {
      const found = await connection.last(this.#store.streams.records, subject);
      if (found && trimmedOf(found) >= seq) return;
      const expect = found?.seq ?? 0;
      if ((await connection.publish(subject, Buffer.from(String(seq)), { expect })) !== null) return;
    }
  }

  /**
   * The leader names the last entry and what was trimmed; the entries come in one answer of whichever server is nearest, and
   * count where that server has got as far as the leader.
   */
  async #page(stream: string, after: number, limit: number): Promise<Entry[]> {
    const { connection, streams } = this.#store;
    const subject = this.#subject(stream);
    const [last, trimmed, batch] = await Promise.all([
      connection.last(this.#stream, subject),
      connection.last(streams.records, this.#trimmedSubject(stream)),
      connection.batch(this.#stream, {
        ...{ seq: after + 1, next_by_subj: subject },
        ...{ batch: limit, max_bytes: ANSWER_BYTES },
      }),
    ]);
    if (!last || last.seq <= after) return [];
    let messages = batch?.messages ?? [];
    const reached = messages.length === limit || (messages.at(-1)?.seq ?? 0) >= last.seq;
    const large = messages.reduce((sum, { data }) => sum + data.length, 0) >= ANSWER_BYTES / 2;
    if (!reached && !large) messages = await this.#fromLeader(subject, after, last.seq, limit);
    const gone = trimmed ? trimmedOf(trimmed) : 0;
    return messages.map((message, i): Entry => {
      const entry = entryOf(message);
      return i === 0 && after < gone && gone < entry.seq ? { ...entry, gap: true } : entry;
    });
  }

  /** One by one, as far as it had come. */
  async #fromLeader(subject: string, after: number, last: number, limit: number): Promise<Message[]> {
    const messages: Message[] = [];
    for (let seq = after + 1; seq <= last && messages.length < limit; ) {
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
