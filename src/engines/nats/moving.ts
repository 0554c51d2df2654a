import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { ExportedEntry, ExportedLog, Moving } from '../../kernel/moving.ts';
import type { NatsBlobs } from './blobs.ts';
import type { Message, StreamConfig } from './connection.ts';
import { Listing } from './listing.ts';
import { FEED_POLL_MS } from './live-feed.ts';
import { type NatsLogs, parseTrimmed } from './logs.ts';
import { encodeEntry, entryOf, keyOf, seqOf, streamOf } from './messages.ts';
import { freezeError, frozenConfig, isFrozen, parseMoveStatus, type Store, thawedConfig } from './opening.ts';
import type { NatsRecords } from './records.ts';
import type { NatsSearchIndex } from './search-index.ts';

/** Maximum number of entries and bytes per batch request. */
const PAGE = { batch: 500, max_bytes: 4 * 1024 * 1024 };

/** Pause in ms before a publish is repeated. It is repeated if an earlier attempt of this publish is undecided. */
const UNDECIDED_MS = 100;

/** Number of sequences reserved for entries that are written to the source store during the copy. */
const RESERVED_SEQUENCES = 2 ** 32;

interface Ports {
  readonly blobs: NatsBlobs;
  readonly records: NatsRecords;
  readonly logs: NatsLogs;
  readonly index: NatsSearchIndex;
}

/**
 * Moves a store into or out of a NATS cluster. The messages of imported records and entries contain their revisions
 * and sequences. JetStream must assign larger numbers to all new messages. So `prepare` creates the streams again
 * with a higher first sequence, which requires an empty store.
 */
export function natsMoving(store: Store, ports: Ports): Moving {
  const { connection, name, streams } = store;
  const moveStatus = async () => parseMoveStatus((await connection.info(streams.logs)).config);
  /** Returns the infos of the streams of records and logs, whose sequences users can see. */
  const numbered = () => Promise.all([streams.records, streams.logs].map((name) => connection.info(name)));
  const configure = async (change: (config: StreamConfig) => StreamConfig) => {
    for (const stream of Object.values(streams) as string[]) {
      const { config } = await connection.info(stream);
      await connection.api(`STREAM.UPDATE.${stream}`, change(config));
    }
  };
  /** Yields the last message of every subject that starts with the prefix. */
  const lastMessages = async function* (stream: string, prefix: string): AsyncGenerator<Message> {
    const listing = new Listing(store, stream, prefix, () => null);
    for await (const { messages } of listing.all('>')) yield* messages;
  };
  return {
    exportBlobs: (prefix = '') => ports.blobs.export(prefix),
    exportRecords: () => ports.records.export(),
    exportDocuments: () => ports.index.export(),
    importBlob: (blob, body) => ports.blobs.import(blob, body),
    importRecord: (record) => ports.records.import(record),
    moveStatus,
    thaw: () => configure(thawedConfig),

    async *exportLogs(): AsyncGenerator<ExportedLog> {
      const [trimmed, logs] = [`${name}.t.`, `${name}.l.`];
      const trimmedSeqs = new Map<string, number>();
      for await (const message of lastMessages(streams.records, trimmed))
        trimmedSeqs.set(message.subject.slice(trimmed.length), parseTrimmed(message));
      const counts = await ports.logs.counts(`${logs}>`);
      for await (const message of lastMessages(streams.logs, logs)) {
        const token = message.subject.slice(logs.length);
        const stream = keyOf(token) ?? streamOf(message);
        if (stream === null)
          throw new RelayError('failed', {
            what: `The cluster has a log that this version does not know (${token}).`,
            hint: 'Run the command with the version of ContextRelay that wrote the store, or a newer one.',
          });
        // Skip a log that was created after the count. The next export contains it.
        const count = counts.get(message.subject);
        if (count !== undefined)
          yield { stream, last: seqOf(message), count, trimmed: trimmedSeqs.get(token) ?? 0 };
      }
    },

    async exportLog(stream) {
      const { last, count } = await ports.logs.info(stream);
      return count === 0 ? null : { stream, last, count, trimmed: await ports.logs.trimmedSeq(stream) };
    },

    async *exportEntries(stream, after): AsyncGenerator<ExportedEntry> {
      const subject = ports.logs.subject(stream);
      const last = await connection.last(streams.logs, subject);
      let from = await ports.logs.positionAfter(subject, after);
      while (last && from <= last.seq) {
        const messages = await connection.messagesFrom(streams.logs, subject, from, PAGE);
        for (const message of messages) yield entryOf(message);
        if (messages.length === 0) return;
        from = messages.at(-1)!.seq + 1;
      }
    },

    async highestNumber() {
      return Math.max(...(await numbered()).map(({ state }) => state.last_seq));
    },

    async prepare(above) {
      const infos = await numbered();
      if (infos.some(({ config }) => (config.first_seq ?? 1) <= above)) {
        const all = await Promise.all(Object.values(streams).map((name) => connection.info(name)));
        if (all.some(({ state }) => state.messages > 0))
          throw new RelayError('conflict', {
            what: 'This cluster has already assigned sequence numbers that the other store uses.',
            hint: 'Copy into an empty store: end the address with another name, nats://…/name',
          });
        for (const { config } of infos) {
          await connection.api(`STREAM.DELETE.${config.name}`);
          await connection.api(`STREAM.CREATE.${config.name}`, {
            ...config,
            first_seq: above + RESERVED_SEQUENCES,
          });
        }
      }
      store.firstSeq = (await connection.info(streams.logs)).config.first_seq ?? 1;
    },

    async importEntries({ stream, trimmed }, entries) {
      const subject = ports.logs.subject(stream);
      if (trimmed > 0) await ports.logs.noteTrimmed(stream, trimmed);
      const last = await connection.last(streams.logs, subject);
      let expect = last?.seq ?? 0;
      for (const { seq, at, id, data } of entries) {
        if (last && seq <= seqOf(last)) continue;
        const payload = encodeEntry(stream, at, JSON.stringify(data), { seq, id });
        const before =
          id === undefined
            ? undefined
            : { subject: ports.logs.markerSubject(stream, id), data: Buffer.from(String(seq)) };
        let stored: number | null = null;
        while (stored === null) {
          stored = await connection.publish(subject, payload, { expect, before });
          if (stored !== null) break;
          const now = await connection.last(streams.logs, subject);
          // An earlier attempt has stored the entry, but its acknowledgement was lost.
          if (now && seqOf(now) === seq) stored = now.seq;
          else if ((now?.seq ?? 0) !== expect)
            throw new RelayError('conflict', { what: `Another process is writing to the log ${stream}.` });
          // An earlier attempt is still undecided.
          else await pause(UNDECIDED_MS);
        }
        expect = stored;
      }
    },

    /**
     * Freezes the streams. From then on JetStream rejects publishes. Other servers stop deleting only after their
     * next poll, so the function waits for two poll intervals.
     */
    async freeze({ to, ms }) {
      const already = await moveStatus();
      await configure((config) => frozenConfig(config, { to, ms }));
      if (already === null) await pause(2 * FEED_POLL_MS);
    },

    async leave({ to }) {
      if ((await moveStatus())?.to !== to) return false;
      await configure((config) => frozenConfig(config, { to, ms: null }));
      return true;
    },
  };
}

/** Returns the error for a write to a frozen store, or null. Thaws a store whose freeze has expired. */
export async function findFreezeError(store: Store, moving: Moving): Promise<RelayError | null> {
  const { config } = await store.connection.info(store.streams.logs);
  const moveStatus = parseMoveStatus(config);
  if (moveStatus) return freezeError(moveStatus);
  if (isFrozen(config)) await moving.thaw();
  return null;
}
