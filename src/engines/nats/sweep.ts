import { isRelayError } from '../../base/errors.ts';
import { ORPHAN_AGE_MS } from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import type { SweepResult } from '../../kernel/engine.ts';
import { DUE_STEP_MS, type NatsBlobs } from './blobs.ts';
import type { Message } from './connection.ts';
import { Listing } from './listing.ts';
import type { Store } from './opening.ts';

/** Maximum number of concurrent requests to the cluster. */
const CONCURRENCY = 16;

/** Minimum time in ms between two searches for orphaned chunks. */
const CHUNK_SWEEP_MS = 600_000;

/**
 * If more than this many steps of `DUE_STEP_MS` have passed since the last sweep, the sweep lists all notes with
 * one request, not with one request per step.
 */
const DUE_STEPS = 20;

/**
 * Message that is written before the first chunk of a blob. `gone` is the time at which a sweep first found the
 * chunks without a manifest.
 */
interface Intent {
  readonly key: string;
  readonly gone?: number;
}

/**
 * Returns the sweep function of the store. JetStream deletes an expired message a minute after it expires. With
 * `scans`, the sweep reads everything and deletes expired messages without waiting for this minute. The chunks of
 * an expired or deleted blob are deleted at the time in their note. Chunks that have neither a manifest nor a note,
 * such as the chunks of an interrupted upload, are deleted an hour after a sweep first found them.
 */
export function sweepNats(store: Store, blobs: NatsBlobs, scans: boolean): () => Promise<SweepResult> {
  const { connection, env, name, streams } = store;
  const intents = new Listing(store, streams.blobs, `${name}.c.`, () => null);
  /**
   * Time at which a sweep first found orphaned chunks, by the name of the chunks. Used only if the store had no room
   * to record the time.
   */
  const orphanedAt = new Map<string, number>();
  let chunksSweptAt = Number.NEGATIVE_INFINITY;
  /** Last step of `DUE_STEP_MS` whose notes were handled. */
  let dueStep = Number.NEGATIVE_INFINITY;

  const removeExpired = async (stream: string, kind: 'r' | 'm') => {
    const swept = { count: 0, bytes: 0 };
    const listing = new Listing(store, stream, `${name}.${kind}.`, () => null);
    for await (const { messages } of listing.all('>')) {
      const expired = messages.filter(
        (message) => (headOf(message).expiresAt ?? Number.POSITIVE_INFINITY) <= env.now(),
      );
      await mapConcurrent(
        expired,
        async (message) => {
          // Do not count a message that JetStream has already deleted or cannot delete now.
          if ((await connection.remove(stream, message.seq).catch(() => null)) === null) return;
          swept.count++;
          swept.bytes += headOf(message).size ?? 0;
        },
        CONCURRENCY,
      );
    }
    return swept;
  };

  const recordOrphan = async (chunks: string, subject: string, intent: Intent) => {
    const gone = env.now();
    const note = Buffer.from(JSON.stringify({ ...intent, gone }));
    await connection.publish(subject, note, { frees: true }).catch((error) => {
      if (!isRelayError(error, 'store_full')) throw error;
      orphanedAt.set(chunks, gone);
    });
  };

  const removeDue = async () => {
    const now = Math.floor(env.now() / DUE_STEP_MS);
    const steps = now - dueStep;
    const filters =
      steps > DUE_STEPS
        ? ['due.>']
        : Array.from({ length: Math.max(0, steps) }, (_, i) => `due.${now - i}.*`);
    for (const filter of filters) {
      for await (const { messages } of intents.all(filter)) {
        const due = messages.filter(({ subject }) => Number(subject.split('.').at(-2)) <= now);
        await mapConcurrent(
          due,
          async ({ subject }) => {
            await blobs.removeChunks(subject.split('.').at(-1)!);
            await connection.purge(streams.blobs, subject);
          },
          CONCURRENCY,
        );
      }
    }
    dueStep = now;
  };

  const removeChunks = async () => {
    let waiting = 0;
    for await (const { messages, last } of intents.all('*.k')) {
      const found = messages.map((message) => ({
        chunks: message.subject.split('.').at(-2)!,
        subject: message.subject,
        intent: JSON.parse(Buffer.from(message.data).toString()) as Intent,
      }));
      const manifests = await blobs.manifests(
        found.map(({ intent }) => intent.key),
        last,
      );
      const orphans = found.filter(({ chunks, intent }) => manifests.get(intent.key)?.chunks !== chunks);
      await mapConcurrent(
        orphans,
        async ({ chunks, subject, intent }) => {
          const { gone = orphanedAt.get(chunks) } = intent;
          if (gone === undefined) await recordOrphan(chunks, subject, intent);
          if (gone === undefined || env.now() - gone < ORPHAN_AGE_MS) waiting++;
          else {
            await blobs.removeChunks(chunks);
            orphanedAt.delete(chunks);
          }
        },
        CONCURRENCY,
      );
    }
    return waiting;
  };

  return async () => {
    const nothing = { count: 0, bytes: 0 };
    const records = scans ? await removeExpired(streams.records, 'r') : nothing;
    const bodies = scans ? await removeExpired(streams.blobs, 'm') : nothing;
    await removeDue();
    const swept = { records: records.count, blobs: bodies.count, bytes: bodies.bytes };
    if (Math.abs(env.now() - chunksSweptAt) < CHUNK_SWEEP_MS) return swept;
    chunksSweptAt = env.now();
    const waiting = await removeChunks();
    return waiting > 0 ? { ...swept, waiting: { count: waiting, bytes: 0 } } : swept;
  };
}

/** Parses the first line of a record or manifest. Returns an empty object for a tombstone. */
function headOf({ data }: Message): { expiresAt?: number; size?: number } {
  const end = data.indexOf(0x0a);
  return end < 0 ? {} : JSON.parse(Buffer.from(data.subarray(0, end)).toString());
}
