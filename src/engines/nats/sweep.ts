import { isRelayError } from '../../base/errors.ts';
import { ORPHAN_AGE_MS } from '../../base/limits.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import type { Swept } from '../../kernel/engine.ts';
import type { NatsBlobs } from './blobs.ts';
import type { Stored as Message } from './connection.ts';
import { Listing } from './listing.ts';
import type { Store } from './store.ts';

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
 * Reclaims what this server wrote and what has expired since; what others wrote is theirs, and what was written by one that is
 * gone JetStream forgets by itself. Chunks without a body go an hour after they were first seen so: somebody may be reading.
 */
export class Sweep {
  readonly #store: Store;
  readonly #blobs: NatsBlobs;
  readonly #intents: Listing<{ key: string }>;
  /** When chunks were first seen without a body, where the store had no room to note it. */
  readonly #unused = new Map<string, number>();
  #scans: boolean;
  #chunksAt = Number.NEGATIVE_INFINITY;

  /** `scans`: looks through everything once, for what others wrote. */
  constructor(store: Store, blobs: NatsBlobs, scans = false) {
    this.#scans = scans;
    this.#store = store;
    this.#blobs = blobs;
    this.#intents = new Listing(store, store.streams.blobs, `${store.name}.c.`, () => null);
  }

  async run(): Promise<Swept> {
    const { connection, env, expiries, streams } = this.#store;
    const swept = { blobs: 0, records: 0, bytes: 0 };
    if (this.#scans) await this.#scan();
    await mapConcurrent(
      expiries.take(env.now()),
      async ({ subject, stream, bytes, expiresAt }) => {
        const message = await connection.last(stream, subject);
        if (!message || headOf(message).expiresAt !== expiresAt) return;
        if ((await connection.remove(stream, message.seq).catch(() => null)) === null) return;
        if (stream === streams.records) swept.records++;
        else swept.blobs++;
        swept.bytes += bytes ?? 0;
      },
      WIDTH,
    );
    if (Math.abs(env.now() - this.#chunksAt) >= CHUNKS_EVERY_MS) {
      this.#chunksAt = env.now();
      await this.#chunks();
    }
    return swept;
  }

  async #chunks(): Promise<void> {
    const { env } = this.#store;
    const unused: { name: string; subject: string; intent: Intent }[] = [];
    for await (const { messages, last } of this.#intents.all('*.k')) {
      const intents = messages.map((message) => ({
        name: message.subject.split('.').at(-2)!,
        subject: message.subject,
        intent: JSON.parse(Buffer.from(message.data).toString()) as Intent,
      }));
      const keys = intents.map(({ intent }) => intent.key);
      const manifests = await this.#blobs.manifests(keys, last);
      unused.push(...intents.filter(({ name, intent }) => manifests.get(intent.key)?.chunks !== name));
    }
    await mapConcurrent(
      unused,
      async ({ name, subject, intent }) => {
        const { gone = this.#unused.get(name) } = intent;
        if (gone === undefined) await this.#noteUnused(name, subject, intent);
        else if (env.now() - gone >= ORPHAN_AGE_MS) {
          await this.#blobs.removeChunks(name);
          this.#unused.delete(name);
        }
      },
      WIDTH,
    );
  }

  async #noteUnused(name: string, subject: string, intent: Intent): Promise<void> {
    const { connection, env } = this.#store;
    const gone = env.now();
    const note = Buffer.from(JSON.stringify({ ...intent, gone }));
    await connection.publish(subject, note, { frees: true }).catch((error) => {
      if (!isRelayError(error, 'store_full')) throw error;
      this.#unused.set(name, gone);
    });
  }

  /** Finds what has expired, whoever wrote it. */
  async #scan(): Promise<void> {
    const { env, expiries, name, streams } = this.#store;
    for (const [stream, kind] of [
      [streams.records, 'r'],
      [streams.blobs, 'm'],
    ] as const) {
      const listing = new Listing(this.#store, stream, `${name}.${kind}.`, () => null);
      for await (const { messages } of listing.all('>')) {
        for (const message of messages) {
          const { expiresAt, size: bytes } = headOf(message);
          if (expiresAt !== undefined && expiresAt <= env.now())
            expiries.note({ subject: message.subject, stream, expiresAt, bytes });
        }
      }
    }
    this.#scans = false;
  }
}

/** Records and manifests say it in their first line; a tombstone has none. */
function headOf({ data }: Message): { expiresAt?: number; size?: number } {
  const end = data.indexOf(0x0a);
  return end < 0 ? {} : JSON.parse(Buffer.from(data.subarray(0, end)).toString());
}
