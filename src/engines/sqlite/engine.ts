import { resolve } from 'node:path';
import { type Env, systemEnv } from '../../base/env.ts';
import { isRelayError } from '../../base/errors.ts';
import { DeferredWork, type Engine, type EngineLimits, type SweepResult } from '../../kernel/engine.ts';
import { type Moving, movingWarnings } from '../../kernel/moving.ts';
import { IndexThread, type IndexThreads } from '../index-thread.ts';
import { SqliteBlobs } from './blobs.ts';
import { type CheckedBody, checkBodies, Scrub, type ScrubState } from './body-check.ts';
import type { Place } from './body-files.ts';
import { CommitQueue, type Store } from './commit-queue.ts';
import { Checkpoints, type Database, Subscriptions } from './database.ts';
import { SqliteLogs } from './logs.ts';
import { sqliteMoving } from './moving.ts';
import { openDatabase, Reserve } from './opening.ts';
import { SqliteRecords } from './records.ts';
import { SqliteSearchIndex } from './search-index.ts';
import { SecureDelete } from './secure-delete.ts';
import { missingBodies, readUsage, sweep } from './sweep.ts';

const MiB = 1024 * 1024;

/** Options of `openSqlite`. */
export interface SqliteOptions {
  /** Folder of the store. Created with mode 0700 if it is missing. */
  readonly home: string;
  readonly env?: Env;
  /** The strongest failure that an acknowledged write survives; a power cut by default. */
  readonly durability?: 'power' | 'process';
  /** Kind of process. A server runs its own checkpoints. A CLI process ends before they would pay off. */
  readonly role?: 'server' | 'cli';
  /** Chooses the bodies that are stored as readable files with their own names. */
  readonly place?: Place;
  /** Worker threads for searches and large index changes. Without them, the calling thread does this work. */
  readonly indexThreads?: IndexThreads;
  /** Called with one sentence after an older store was migrated to the current format. */
  readonly warn?: (what: string) => void;
}

/** A SQLite engine with the operations that only this engine has. */
export interface SqliteEngine extends Engine {
  readonly moving: Moving;
  /**
   * Deletes the reserve file on a full disk. Deletions and the caller's own files can then use its space. Other
   * writes are rejected until the disk has room again.
   */
  releaseReserve(): void;
  /**
   * From this call on, commits do not wait for the disk. Call it when nobody waits for the remaining writes.
   * Closing the last connection syncs them.
   */
  stopSyncing(): void;
  /** Creates the readable files of these keys that are still missing. */
  makeFiles(keys: readonly string[]): Promise<void>;
  /** Counts the bodies whose files are missing. `some` contains a few of the file names. */
  missingBodies(): Promise<{ readonly count: number; readonly some: readonly string[] }>;
  /** Reads and verifies all bodies, one after the other. */
  checkBodies(): AsyncIterable<CheckedBody>;
  /**
   * Runs SQLite's integrity check, which reads the whole database and blocks the event loop. Returns the
   * first problem, or null.
   */
  checkDatabase(): Promise<string | null>;
  /** Returns the progress of a server's background verification. Returns null in a CLI process. */
  scrubState(): ScrubState | null;
}

/**
 * Opens a store on one machine, which any number of processes can share without a daemon. All data is in one SQLite
 * database, except large bodies, which are files in the same folder.
 */
export async function openSqlite(o: SqliteOptions): Promise<SqliteEngine> {
  const home = resolve(o.home);
  const role = o.role ?? 'cli';
  const limits: EngineLimits = {
    recordBytes: MiB,
    entryBytes: MiB,
    blobBytes: 64 * MiB,
    durability: o.durability ?? 'power',
  };
  const reserve = new Reserve(home);
  let alone = false;
  const open = () => openDatabase(home, limits.durability, role, o.warn, { alone });
  const ifFull = (prepare: () => void) => (error: unknown) => {
    if (!isRelayError(error, 'store_full')) throw error;
    prepare();
    return open();
  };
  const openAlone = () => {
    alone = role === 'server';
  };
  const db = await open()
    .catch(ifFull(() => reserve.release()))
    .catch(ifFull(openAlone));
  reserve.ensure();
  const checkpoints = new Checkpoints(db, role);
  const subscriptions = new Subscriptions(db, home);
  const env = o.env ?? systemEnv;
  const committed = (streams: ReadonlySet<string>) => {
    if (streams.size > 0) subscriptions.committed(streams);
    checkpoints.committed();
  };
  const queue = new CommitQueue(db, committed, {
    sync: role === 'server' && limits.durability === 'power' ? () => db.syncWal() : null,
    reserve,
  });
  const store: Store = { home, env, limits, db, queue };
  const blobs = new SqliteBlobs(store, { place: o.place, usesSegments: role === 'server' });
  const moving = sqliteMoving(store, blobs);
  const deferred = new DeferredWork();
  const secureDelete = new SecureDelete(store, checkpoints);
  const scrub = role === 'server' ? new Scrub(store) : null;
  let sweeps = 0;
  let sweeping: Promise<SweepResult> | undefined;
  let closing: Promise<void> | undefined;
  const close = async () => {
    await deferred.settle();
    subscriptions.end();
    await scrub?.close();
    await secureDelete.close();
    await queue.close();
    await checkpoints.close();
    subscriptions.close();
    db.close();
  };
  const logs = new SqliteLogs(store, subscriptions);
  const thread = o.indexThreads && new IndexThread(o.indexThreads, db.path, { yields: true });
  return {
    blobs,
    records: new SqliteRecords(store, logs),
    logs,
    // A store that was opened exclusively rejects the connections of worker threads. Then this thread does
    // their work.
    index: new SqliteSearchIndex(store, { thread: alone ? undefined : thread }),
    limits,
    moving,
    now: () => env.now(),
    defer: (work, afterMs) => deferred.defer(work, afterMs),
    sweep() {
      // Only one sweep runs at a time. Concurrent calls share its result.
      sweeping ??= sweep({ ...store, blobs, checkpoints, secureDelete }, sweeps++).finally(() => {
        sweeping = undefined;
      });
      return sweeping;
    },
    usage: () => readUsage(store),
    state: async () => ({
      engine: `SQLite in ${home}`,
      replicas: 1,
      warnings: [
        ...(reserve.held ? [] : [reserve.warning()]),
        ...(alone ? [ALONE] : []),
        ...damageWarnings(scrub?.state.damaged ?? 0),
        ...movingWarnings(await moving.moveStatus()),
      ],
    }),
    releaseReserve: () => reserve.release(),
    stopSyncing() {
      if (!closing) db.exec('PRAGMA synchronous = NORMAL');
    },
    makeFiles: (keys) => blobs.makeFiles(keys),
    missingBodies: () => missingBodies(store),
    checkBodies: () => checkBodies(store),
    checkDatabase: () => checkDatabase(db),
    scrubState: () => scrub?.state ?? null,
    [Symbol.asyncDispose]() {
      closing ??= close();
      return closing;
    },
  };
}

const ALONE =
  'The store was opened on a full disk, so no other process can use it. Free disk space, then restart the relay.';

function damageWarnings(damaged: number): string[] {
  if (damaged === 0) return [];
  const what = damaged === 1 ? 'One payload is damaged.' : `${damaged} payloads are damaged.`;
  return [`${what} List them with: relay doctor --deep`];
}

function checkDatabase(db: Database): Promise<string | null> {
  return db.retryWhileBusy(() => {
    const { integrity_check } = db.sql<{ integrity_check: string }>('PRAGMA integrity_check(1)').get()!;
    return integrity_check === 'ok' ? null : integrity_check;
  });
}
