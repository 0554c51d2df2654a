import { hash } from 'node:crypto';
import { isRelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import type { AppendOptions, Entry, LogPage, Logs, ReadOptions } from '../../kernel/logs.ts';
import { checkKey, checkLimit, encodeJson } from '../../kernel/validate-input.ts';
import { publishWhenFreed } from './account-storage.ts';
import type { Message, PublishOptions } from './connection.ts';
import type { LiveFeed } from './live-feed.ts';
import { encodeEntry, entryOf, seqOf, tokenOf } from './messages.ts';
import type { Store } from './opening.ts';

/** Maximum number of entries that a subscriber reads in one batch. */
const SUBSCRIBER_BATCH = 64;

/** Number of bytes after which JetStream ends a batch. A page of large entries needs several batches. */
const BATCH_BYTES = 8 * 1024 * 1024;

/**
 * Logs in JetStream. All logs share one JetStream stream, in which each log is one subject.
 *
 * An entry with an id is stored in an atomic batch after a marker. The marker is a message whose subject contains the
 * id; it lives as long as the entry. The sequence of the entry is the sequence of the marker plus 1.
 *
 * An imported entry keeps the sequence from its old store, in its message. Old sequences are always smaller than the
 * first sequence of the JetStream stream (`Store.firstSeq`). So sequences increase along a log, and show which
 * entries were imported. A *position* is the sequence of a message in the JetStream stream.
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
    const subject = this.subject(stream);
    const payload = encodeEntry(stream, this.#store.env.now(), json, { id: o.id });
    const expect = await this.#expectedPosition(subject, o.expectSeq);
    if (o.id !== undefined)
      return this.#appendOnce(subject, payload, this.markerSubject(stream, o.id), expect);
    return expect === null ? null : this.#append(subject, payload, { expect, frees: o.frees });
  }

  async read(stream: string, o: ReadOptions = {}): Promise<LogPage> {
    checkKey("a stream's name", stream);
    const limit = checkLimit(o.limit);
    const entries: Entry[] = [];
    // A batch may end early at its byte limit. Then read on, because fewer entries than `limit` would mean the end of
    // the log.
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
    const read = async (after: number) => (await this.#page(stream, after, SUBSCRIBER_BATCH)).entries;
    return this.#feed.follow(token, o.after ?? 0, o.signal, read);
  }

  async info(stream: string): Promise<{ first: number; last: number; count: number }> {
    checkKey("a stream's name", stream);
    const subject = this.subject(stream);
    const { connection } = this.#store;
    for (;;) {
      const [first, last, count] = await Promise.all([
        connection.next(this.#stream, subject, 1),
        connection.last(this.#stream, subject),
        this.#count(subject),
      ]);
      if (!first && !last && count === 0) return { first: 0, last: 0, count: 0 };
      // If the log was created or dropped between the three requests, their results do not match. Then try again.
      if (first && last && count > 0) return { first: seqOf(first), last: seqOf(last), count };
    }
  }

  async trim(stream: string, o: { before: number }): Promise<void> {
    checkKey("a stream's name", stream);
    const { connection } = this.#store;
    const subject = this.subject(stream);
    const last = await connection.last(this.#stream, subject);
    if (!last) return;
    const before = Math.min(await this.positionAfter(subject, o.before - 1), last.seq);
    const trimmed = await this.#lastBefore(subject, before);
    if (trimmed === null) return;
    // Record the trim before the purge, so that a reader always learns about the gap.
    const isNoted = await this.noteTrimmed(stream, seqOf(trimmed)).then(
      () => true,
      (error) => {
        if (!isRelayError(error, 'store_full')) throw error;
        return false;
      },
    );
    await connection.purge(this.#stream, subject, before);
    if (!isNoted) await this.noteTrimmed(stream, seqOf(trimmed), true);
    // The position of a marker is one less than the position of its entry.
    await connection.purge(this.#stream, `${this.#markerPrefix(stream)}.*`, before - 1);
  }

  async drop(stream: string): Promise<void> {
    checkKey("a stream's name", stream);
    const { connection, streams } = this.#store;
    await connection.purge(this.#stream, this.subject(stream));
    await connection.purge(this.#stream, `${this.#markerPrefix(stream)}.*`);
    await connection.purge(streams.records, this.#trimmedSubject(stream));
    this.#feed.forget(tokenOf(stream));
  }

  /** Counts the entries of all logs. */
  async count(): Promise<number> {
    return this.#count(`${this.#store.name}.l.>`);
  }

  subject(stream: string): string {
    return `${this.#store.name}.l.${tokenOf(stream)}`;
  }

  #markerPrefix(stream: string): string {
    return `${this.#store.name}.i.${tokenOf(stream)}`;
  }

  markerSubject(stream: string, id: string): string {
    return `${this.#markerPrefix(stream)}.${hash('sha256', id, 'base64url')}`;
  }

  /**
   * Returns the subject of a record that only this engine uses. The record says up to which sequence the log was
   * trimmed.
   */
  #trimmedSubject(stream: string): string {
    return `${this.#store.name}.t.${tokenOf(stream)}`;
  }

  /** Returns the sequence up to which a log was trimmed, or 0. */
  async trimmedSeq(stream: string): Promise<number> {
    const note = await this.#store.connection.last(this.#store.streams.records, this.#trimmedSubject(stream));
    return note ? parseTrimmed(note) : 0;
  }

  /**
   * Converts an expected last sequence to a position. If the sequence belongs to an imported entry, reads the last
   * entry of the log to find its position. Returns null if the last entry has another sequence.
   */
  async #expectedPosition(subject: string, seq: number | undefined): Promise<number | undefined | null> {
    if (seq === undefined || seq <= 0 || seq >= this.#store.firstSeq) return seq;
    const last = await this.#store.connection.last(this.#stream, subject);
    return last && seqOf(last) === seq ? last.seq : null;
  }

  /**
   * Returns the position from which the entries after a sequence are read. Among imported entries, a binary
   * search finds the position.
   */
  async positionAfter(subject: string, after: number): Promise<number> {
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
      // A competing append may have caused the rejection and then failed itself. If the last position is unchanged,
      // try again.
      if ((await this.#last(subject)) !== o.expect) return null;
    }
  }

  async #appendOnce(subject: string, payload: Uint8Array, marker: string, expect: number | undefined | null) {
    // If the caller expects a certain last entry, first look for an existing entry with the id of the new entry. If
    // there is one, return it, even if the last entry is not the expected one. An empty log has no such entry. If
    // the caller expects nothing, the publish below fails if the marker of the id exists.
    if (expect !== undefined && expect !== 0) {
      const first = await this.#entrySeqOfMarker(marker);
      if (first !== null) return first;
    }
    if (expect === null) return null;
    const before = { subject: marker, data: MARKER, expect: 0 };
    for (;;) {
      const seq = await this.#store.connection.publish(subject, payload, { expect, before });
      if (seq !== null) return seq;
      const first = await this.#entrySeqOfMarker(marker);
      if (first !== null) return first;
      if (expect !== undefined && (await this.#last(subject)) !== expect) return null;
    }
  }

  async #entrySeqOfMarker(marker: string): Promise<number | null> {
    const found = await this.#store.connection.last(this.#stream, marker);
    // The marker of an imported entry contains the sequence of the entry.
    return found && (Number(Buffer.from(found.data).toString()) || found.seq + 1);
  }

  async #last(subject: string): Promise<number> {
    return (await this.#store.connection.last(this.#stream, subject))?.seq ?? 0;
  }

  /**
   * Returns the last entry before a position. Starts with the answer of a replica, then asks the leader for later
   * entries.
   */
  async #lastBefore(subject: string, before: number): Promise<Message | null> {
    if (before <= 1) return null;
    const request = { multi_last: [subject], up_to_seq: before - 1 };
    let found = (await this.#store.connection.batchFromAny(this.#stream, request))?.messages[0] ?? null;
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

  /** Returns the number of messages of each subject that matches the filter. */
  async counts(filter: string): Promise<Map<string, number>> {
    const all = new Map<string, number>();
    for (let offset = 0; ; ) {
      const request = { subjects_filter: filter, ...(offset > 0 ? { offset } : {}) };
      const { state, total = 0 } = await this.#store.connection.info(this.#stream, request);
      const counts = Object.entries(state.subjects ?? {});
      for (const [subject, count] of counts) all.set(subject, count);
      offset += counts.length;
      if (counts.length === 0 || offset >= total) return all;
    }
  }

  /**
   * Records up to which sequence a log was trimmed. With `waits`, retries until the usage that NATS reports includes
   * the freed storage.
   */
  async noteTrimmed(stream: string, seq: number, waits = false): Promise<void> {
    const { connection } = this.#store;
    const subject = this.#trimmedSubject(stream);
    for (;;) {
      const found = await connection.last(this.#store.streams.records, subject);
      if (found && parseTrimmed(found) >= seq) return;
      const expect = found?.seq ?? 0;
      const note = Buffer.from(String(seq));
      const stored = waits
        ? await publishWhenFreed(connection, subject, note, { expect })
        : await connection.publish(subject, note, { expect, frees: true });
      if (stored !== null) return;
    }
  }

  /**
   * Reads a page of entries from a replica, or from the leader if the replica lags. `more` is true if the page ended
   * early at its byte limit.
   */
  async #page(
    stream: string,
    after: number,
    limit: number,
    maxBytes = BATCH_BYTES,
  ): Promise<{ entries: Entry[]; more: boolean }> {
    // `batchBytes` is at least three times the size of the largest entry. So a batch that JetStream ends at
    // this limit is more than half full. A batch that is less full means that the replica lags.
    const batchBytes = Math.min(Math.max(maxBytes, 3 * this.#store.limits.entryBytes), BATCH_BYTES);
    const { connection } = this.#store;
    const subject = this.subject(stream);
    const from = await this.positionAfter(subject, after);
    const [last, trimmedSeq, batch] = await Promise.all([
      connection.last(this.#stream, subject),
      this.trimmedSeq(stream),
      connection.batch(this.#stream, {
        seq: from,
        next_by_subj: subject,
        batch: limit,
        max_bytes: batchBytes,
      }),
    ]);
    if (!last || seqOf(last) <= after) return { entries: [], more: false };
    let messages = batch?.messages ?? [];
    const isComplete = messages.length === limit || (messages.at(-1)?.seq ?? 0) >= last.seq;
    const isByteLimited = messages.reduce((sum, { data }) => sum + data.length, 0) >= batchBytes / 2;
    if (!isComplete && !isByteLimited) messages = await this.#fromLeader(subject, from, last.seq, limit);
    const entries = messages.map((message, i): Entry => {
      const { id: _, ...entry } = entryOf(message);
      return i === 0 && after < trimmedSeq && trimmedSeq < entry.seq ? { ...entry, gap: true } : entry;
    });
    return { entries, more: !isComplete && isByteLimited };
  }

  /** Reads entries up to position `last` from the leader, with one request per entry. */
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

const MARKER = new TextEncoder().encode('.');

/** Parses the message that records up to which sequence a log was trimmed. */
export function parseTrimmed({ data }: Message): number {
  return Number(Buffer.from(data).toString());
}
