import type { DurableObjectStorage, R2Bucket } from '@cloudflare/workers-types';
import { type Env, systemEnv } from '../../base/env.ts';
import { DeferredWork, type Engine, type EngineLimits, Followers } from '../../kernel/engine.ts';
import { prefixUpperBound } from '../../kernel/validate-input.ts';
import { type BucketEngine, withObjectBucket } from '../s3/bucket-engine.ts';
import type { RowStore } from '../sqlite/commit-queue.ts';
import { SqliteLogs } from '../sqlite/logs.ts';
import { SqliteRecords } from '../sqlite/records.ts';
import { SqliteSearchIndex } from '../sqlite/search-index.ts';
import { RowBlobs } from './blobs.ts';
import { ObjectCommits, ObjectDatabase } from './database.ts';
import { type FormerRow, type FormerTable, writeFormerRows } from './former-store.ts';
import { openR2 } from './r2.ts';

/** The platform allows rows of 2 MB. The difference is for the key and other columns. */
const ROW_BYTES = 1_900_000;

const LIMITS: EngineLimits = {
  recordBytes: ROW_BYTES,
  entryBytes: ROW_BYTES,
  blobBytes: 64 * 1024 * 1024,
  // Indexing 1 MiB blocks the object for a few hundred milliseconds. Only the start of a longer text is indexed.
  indexedBytes: 1024 * 1024,
  durability: 'quorum',
};

/**
 * Maximum delay of deferred work, in ms. A waiting timer keeps the object awake, which costs money. Alarms do what is
 * due later.
 */
const MAX_DEFER_MS = 1_000;

/** Size in bytes of a part of an upload to R2: the minimum that R2 allows, because an object has little memory. */
const PART_BYTES = 5 * 1024 * 1024;

export interface ObjectEngineOptions {
  readonly storage: DurableObjectStorage;
  readonly bucket: R2Bucket;
  readonly env?: Env;
  /** Called after each commit with the names of the changed streams. */
  committed?(streams: ReadonlySet<string>): void;
  /** Size in bytes above which a blob is stored in the bucket. */
  readonly above?: number;
  readonly orphanMs?: number;
}

export interface ObjectEngine extends BucketEngine {
  /** Returns the earliest expiry of a record or blob, in ms since the epoch. Null if nothing expires. */
  nextExpiry(): number | null;
  /** Returns the time of the oldest entry of all streams that start with the prefix, or null. */
  oldestEntry(prefix: string): number | null;
  /** Returns the parts before the first slash of all record keys that start with the prefix. */
  segments(prefix: string): string[];
  /** Writes rows of an earlier version, for a move. */
  importRows(table: FormerTable, rows: readonly FormerRow[]): Promise<void>;
  /** Runs all deferred work now. */
  settle(): Promise<void>;
}

/** Opens the store of one Durable Object: rows in its SQLite database, large blobs in R2. */
export async function openObjectEngine(o: ObjectEngineOptions): Promise<ObjectEngine> {
  const env = o.env ?? systemEnv;
  const db = new ObjectDatabase(o.storage);
  const followers = new Followers();
  const queue = new ObjectCommits(db, (streams) => {
    for (const stream of streams) followers.wake(stream);
    o.committed?.(streams);
  });
  const store: RowStore = { env, limits: LIMITS, db, queue };
  const logs = new SqliteLogs(store, followers, 'computed');
  const deferred = new DeferredWork();
  const rows: Engine = {
    blobs: new RowBlobs(store),
    records: new SqliteRecords(store, logs),
    logs,
    index: new SqliteSearchIndex(store, { rowBytes: ROW_BYTES }),
    limits: LIMITS,
    now: () => env.now(),
    defer: (work, afterMs = 0) => deferred.defer(work, Math.min(afterMs, MAX_DEFER_MS)),
    sweep: () => sweep(store),
    usage: async () => usage(store, db.bytes),
    state: async () => ({ engine: 'Cloudflare', replicas: null, warnings: [] }),
    async [Symbol.asyncDispose]() {
      await deferred.settle();
      followers.end();
    },
  };
  const { bucket, above, orphanMs } = o;
  const engine = await withObjectBucket(rows, {
    address: 'r2',
    open: () => openR2(bucket),
    above,
    orphanMs,
    partBytes: PART_BYTES,
  });
  return {
    ...engine,
    nextExpiry() {
      const sql = `SELECT min(expires) AS at FROM
        (SELECT min(expires) AS expires FROM records UNION ALL SELECT min(expires) FROM blobs)`;
      return db.sql<{ at: number | null }>(sql).get()!.at;
    },
    oldestEntry(prefix) {
      const sql = `SELECT min((SELECT at FROM entries WHERE stream = streams.id ORDER BY seq LIMIT 1)) AS at
        FROM streams WHERE name >= ? AND name < ?`;
      return db.sql<{ at: number | null }>(sql).get(prefix, prefixUpperBound(prefix))!.at;
    },
    segments(prefix) {
      const found: string[] = [];
      // Jump from segment to segment instead of scanning all records.
      const sql = 'SELECT min(key) AS key FROM records WHERE key >= ?';
      for (let from = prefix; ; ) {
        const { key } = db.sql<{ key: string | null }>(sql).get(from)!;
        if (!key?.startsWith(prefix)) return found;
        const segment = key.slice(0, key.indexOf('/'));
        found.push(segment);
        from = `${segment}0`;
      }
    },
    importRows: (table, rows) =>
      writeFormerRows({ store, blobs: engine.blobs, index: engine.index, bucket: o.bucket }, table, rows),
    settle: () => deferred.settle(),
  };
}

function sweep({ db, env, queue }: RowStore) {
  const now = env.now();
  return queue.free(() => {
    const blobs = db.sql<{ size: number }>('DELETE FROM blobs WHERE expires <= ? RETURNING size').all(now);
    const records = Number(db.sql('DELETE FROM records WHERE expires <= ?').run(now).changes);
    db.sql('DELETE FROM entries WHERE stream IN (SELECT id FROM streams WHERE name IS NULL)').run();
    db.sql('DELETE FROM streams WHERE name IS NULL').run();
    return { blobs: blobs.length, records, bytes: blobs.reduce((sum, { size }) => sum + size, 0) };
  });
}

function usage({ db, env }: RowStore, diskBytes: number) {
  const now = env.now();
  const live = 'WHERE expires IS NULL OR expires > ?';
  const count = <Row>(sql: string, ...values: number[]) => db.sql<Row>(sql).get(...values)!;
  return {
    blobs: count<{ count: number; bytes: number }>(
      `SELECT count(*) AS count, coalesce(sum(size), 0) AS bytes FROM blobs ${live}`,
      now,
    ),
    records: count<{ count: number }>(`SELECT count(*) AS count FROM records ${live}`, now).count,
    entries: count<{ count: number }>(
      'SELECT count(*) AS count FROM entries JOIN streams ON streams.id = stream WHERE name IS NOT NULL',
    ).count,
    diskBytes,
  };
}
