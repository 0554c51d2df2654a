import { isRelayError } from '../../base/errors.ts';
import { ORPHAN_AGE_MS } from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import type { SweepResult } from '../../kernel/engine.ts';
import type { NatsBlobs } from './blobs.ts';
import type { Stored as Message } from './connection.ts';
import { Listing } from './listing.ts';
import type { Store } from './opening.ts';

/** Questions to the cluster at once. */
const WIDTH = 16;

/** How often all chunks are looked through for those that no body has. */
const CHUNKS_EVERY_MS = 600_000;

/** Written when the first chunk of a body is; `gone`: when it was first seen without a body that has it. */
interface Intent {
  readonly key: string;
  readonly gone?: number;
}

/**
 * A sweep of the store. What has expired JetStream forgets by itself a minute later; with `scans`, which looks at everything there is,
 * it goes at once. Chunks without a body go an hour after they were first seen so: somebody may be reading.
 */
export function sweepNats(store: Store, blobs: NatsBlobs, scans: boolean): () => Promise<SweepResult> {
  const { connection, env, name, streams } = store;
  const intents = new Listing(store, streams.blobs, `${name}.c.`, () => null);
  /** When chunks were first seen without a body, where the store had no room to note it. */
  const unused = new Map<string, number>();
  let chunksAt = Number.NEGATIVE_INFINITY;

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
          // What JetStream has forgotten meanwhile, or cannot delete now, is not counted.
          if ((await connection.remove(stream, message.seq).catch(() => null)) === null) return;
          swept.count++;
          swept.bytes += headOf(message).size ?? 0;
        },
        WIDTH,
      );
    }
    return swept;
  };

  const noteUnused = async (chunks: string, subject: string, intent: Intent) => {
    const gone = env.now();
    const note = Buffer.from(JSON.stringify({ ...intent, gone }));
    await connection.publish(subject, note, { frees: true }).catch((error) => {
      if (!isRelayError(error, 'store_full')) throw error;
      unused.set(chunks, gone);
    });
  };

  const removeChunks = async () => {
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
          const { gone = unused.get(chunks) } = intent;
          if (gone === undefined) await noteUnused(chunks, subject, intent);
          else if (env.now() - gone >= ORPHAN_AGE_MS) {
            await blobs.removeChunks(chunks);
            unused.delete(chunks);
          }
        },
        WIDTH,
      );
    }
  };

  return async () => {
    const nothing = { count: 0, bytes: 0 };
    const records = scans ? await removeExpired(streams.records, 'r') : nothing;
    const bodies = scans ? await removeExpired(streams.blobs, 'm') : nothing;
    if (Math.abs(env.now() - chunksAt) >= CHUNKS_EVERY_MS) {
      chunksAt = env.now();
      await removeChunks();
    }
    return { records: records.count, blobs: bodies.count, bytes: bodies.bytes };
  };
}

/** Records and manifests say it in their first line; a tombstone has none. */
function headOf({ data }: Message): { expiresAt?: number; size?: number } {
  const end = data.indexOf(0x0a);
  return end < 0 ? {} : JSON.parse(Buffer.from(data.subarray(0, end)).toString());
}
