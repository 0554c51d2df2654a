import { hash } from 'node:crypto';
import { RelayError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { pause } from '../../base/pause.ts';
import type { ExportedEntry, ExportedLog, Moving } from '../../kernel/moving.ts';
import type { NatsBlobs } from './blobs.ts';
import type { Stored as Message } from './connection.ts';
import { Listing } from './listing.ts';
import { LOOK_MS } from './live-feed.ts';
import type { NatsLogs } from './logs.ts';
import { encodeEntry, entryOf, keyOf, seqOf, streamOf, tokenOf } from './messages.ts';
import { departureOf, frozenConfig, isFrozen, refusalOf, type Store, thawedConfig } from './opening.ts';
import type { NatsRecords } from './records.ts';
import type { NatsSearchIndex } from './search-index.ts';

/** Entries that are asked for at once, and bytes after which an answer ends. */
const PAGE_ENTRIES = 500;
const PAGE_BYTES = 4 * 1024 * 1024;

/** Numbers that a source may still give out while it is copied: more than any gets to in a month. */
const ROOM = 2 ** 32;

interface Ports {
  readonly blobs: NatsBlobs;
  readonly records: NatsRecords;
  readonly logs: NatsLogs;
  readonly index: NatsSearchIndex;
}

/**
 * What comes from another store keeps its numbers, in the messages themselves, and those that JetStream gives out from then on
 * are larger: the streams of records and logs begin that much further on, which is why the store must be empty at first.
 */
export function natsMoving(store: Store, ports: Ports): Moving {
  const { connection, name, streams } = store;
  const info = (stream: string) => streamInfo(store, stream);
  const departure = async () => departureOf((await info(streams.logs)).config as JsonObject);
  /** Of the streams whose numbers are seen. */
  const numbered = () => Promise.all([info(streams.records), info(streams.logs)]);
  const configure = async (change: (config: JsonObject) => JsonObject) => {
    for (const stream of Object.values(streams) as string[]) {
      const { config } = await info(stream);
      await connection.api(`STREAM.UPDATE.${stream}`, change(config as JsonObject));
    }
  };
  /** The last message of each subject that begins so. */
  const lastMessages = async function* (stream: string, prefix: string): AsyncGenerator<Message> {
    const listing = new Listing(store, stream, prefix, () => null);
    for await (const { messages } of listing.all('>')) yield* messages;
  };
  const entriesFrom = async (subject: string, from: number): Promise<Message[]> => {
    const ask = { seq: from, next_by_subj: subject, batch: PAGE_ENTRIES, max_bytes: PAGE_BYTES };
    const batch = await connection.batch(streams.logs, ask);
    if (batch && batch.messages.length > 0) return batch.messages;
    const next = await connection.next(streams.logs, subject, from);
    return next ? [next] : [];
  };
  return {
    exportBlobs: (prefix = '') => ports.blobs.export(prefix),
    exportRecords: () => ports.records.export(),
    exportDocuments: () => ports.index.export(),
    importBlob: (kept, body) => ports.blobs.import(kept, body),
    importRecord: (kept) => ports.records.import(kept),
    moveStatus: departure,
    thaw: () => configure(thawedConfig),

    async *exportLogs(): AsyncGenerator<ExportedLog> {
      const [trimmed, logs] = [`${name}.t.`, `${name}.l.`];
      const gone = new Map<string, number>();
      for await (const message of lastMessages(streams.records, trimmed))
        gone.set(message.subject.slice(trimmed.length), numberOf(message));
      const counts = await ports.logs.counts(`${logs}>`);
      for await (const message of lastMessages(streams.logs, logs)) {
        const token = message.subject.slice(logs.length);
        const stream = keyOf(token) ?? streamOf(message);
        if (stream === null)
          throw new RelayError('failed', { what: `The name of the log ${token} is not known.` });
        // One that was not there yet when they were counted comes with the next listing.
        const count = counts.get(message.subject);
        if (count !== undefined) yield { stream, last: seqOf(message), count, trimmed: gone.get(token) ?? 0 };
      }
    },

    async exportLog(stream) {
      const { last, count } = await ports.logs.info(stream);
      const gone = await connection.last(streams.records, `${name}.t.${tokenOf(stream)}`);
      return count === 0 ? null : { stream, last, count, trimmed: gone ? numberOf(gone) : 0 };
    },

    async *exportEntries(stream, after): AsyncGenerator<ExportedEntry> {
      const subject = `${name}.l.${tokenOf(stream)}`;
      const last = await connection.last(streams.logs, subject);
      let from = await ports.logs.place(subject, after);
      while (last && from <= last.seq) {
        const messages = await entriesFrom(subject, from);
        for (const message of messages) yield entryOf(message);
        if (messages.length === 0) return;
        from = messages.at(-1)!.seq + 1;
      }
    },

    async highestNumber() {
      const [records, logs] = await numbered();
      return Math.max(lastSeq(records), lastSeq(logs));
    },

    async prepare(above) {
      const infos = await numbered();
      if (infos.some((info) => firstSeq(info) <= above)) {
        const all = await Promise.all(Object.values(streams).map(info));
        if (all.some((info) => (info.state as { messages: number }).messages > 0))
          throw new RelayError('conflict', {
            what: 'This cluster has given out numbers that the other store uses too.',
            hint: 'Copy into an empty store: give the address another name at its end, nats://…/name',
          });
        for (const { config } of infos as unknown as { config: JsonObject & { name: string } }[]) {
          await connection.api(`STREAM.DELETE.${config.name}`);
          await connection.api(`STREAM.CREATE.${config.name}`, { ...config, first_seq: above + ROOM });
        }
      }
      store.firstSeq = firstSeq(await info(streams.logs));
    },

    async importEntries({ stream, trimmed }, entries) {
      const token = tokenOf(stream);
      const subject = `${name}.l.${token}`;
      if (trimmed > 0) await ports.logs.noteTrimmed(stream, trimmed);
      const last = await connection.last(streams.logs, subject);
      let expect = last?.seq ?? 0;
      for (const { seq, at, id, data } of entries) {
        if (last && seq <= seqOf(last)) continue;
        const payload = encodeEntry(stream, at, JSON.stringify(data), { seq, id });
        const mark = id === undefined ? undefined : `${name}.i.${token}.${hash('sha256', id, 'base64url')}`;
        const before = mark === undefined ? undefined : { subject: mark, data: Buffer.from(String(seq)) };
        const stored = await connection.publish(subject, payload, { expect, before });
        if (stored === null)
          throw new RelayError('conflict', { what: `Somebody else writes into the log ${stream}.` });
        expect = stored;
      }
    },

    /** JetStream takes nothing from then on; servers that remove something hear of it when they next look. */
    async freeze({ to, ms }) {
      const already = await departure();
      await configure((config) => frozenConfig(config, { to, ms }));
      if (already === null) await pause(2 * LOOK_MS);
    },

    async leave({ to }) {
      if ((await departure())?.to !== to) return false;
      await configure((config) => frozenConfig(config, { to, ms: null }));
      return true;
    },
  };
}

/** Why nothing that is published is heard; what was frozen for a time that is over is opened again. */
export async function whyRefused(store: Store, moving: Moving): Promise<RelayError | null> {
  const { config } = await streamInfo(store, store.streams.logs);
  const departure = departureOf(config as JsonObject);
  if (departure) return refusalOf(departure);
  if (isFrozen(config as JsonObject)) await moving.thaw();
  return null;
}

async function streamInfo({ connection }: Store, stream: string): Promise<JsonObject> {
  return (await connection.api(`STREAM.INFO.${stream}`))!;
}

function firstSeq({ config }: JsonObject): number {
  return ((config as JsonObject).first_seq as number | undefined) ?? 1;
}

function lastSeq({ state }: JsonObject): number {
  return (state as { last_seq: number }).last_seq;
}

function numberOf({ data }: Message): number {
  return Number(Buffer.from(data).toString());
}
