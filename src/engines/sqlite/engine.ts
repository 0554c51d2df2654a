import { resolve } from 'node:path';
import { type Env, systemEnv } from '../../base/env.ts';
import { isRelayError } from '../../base/errors.ts';
import { DeferredWork, type Engine, type EngineLimits, type SweepResult } from '../../kernel/engine.ts';
import { type Moving, movingWarnings } from '../../kernel/moving.ts';
import type { IndexThreads } from '../index-thread.ts';
import { SqliteBlobs } from './blobs.ts';
import { type CheckedBody, checkBodies, Scrub, type ScrubState } from './body-check.ts';
import type { Place } from './body-files.ts';
import { CommitQueue, Reserve, type Store } from './commit-queue.ts';
import { Checkpoints, type Database } from './database.ts';
import { SqliteLogs, Subscriptions } from './logs.ts';
import { sqliteMoving } from './moving.ts';
import { openDatabase } from './opening.ts';
import { SqliteRecords } from './records.ts';
import { SqliteSearchIndex } from './search-index.ts';
import { SecureDelete } from './secure-delete.ts';
import { missingBodies, readUsage, sweep } from './sweep.ts';

const MiB = 1024 * 1024;

export interface SqliteOptions {
  /** The folder of the store; made, for nobody else to read, where it is missing. */
  readonly home: string;
  readonly env?: Env;
  /** What an acknowledged write survives; by default a power cut. */
  readonly durability?: 'power' | 'process';
  /** A server lives long and checkpoints aside; a command is over before that would pay. */
  readonly role?: 'server' | 'cli';
  /** Bodies that are files with names of their own, for people to read. */
  readonly place?: Place;
  /** Does searches and long changes of the index; this process itself does them by default. */
  readonly indexThreads?: IndexThreads;
  /** Told, in a sentence, that an older store was brought to our format. */
  readonly warn?: (what: string) => void;
}

export interface SqliteEngine extends Engine {
  readonly moving: Moving;
  /** Makes the last room on a full disk, which deletions then share with what the caller has to write. Nothing new is stored until there is more. */
  releaseReserve(): void;
  /** Makes files of the bodies under these keys that are to be such and are not yet. */
  makeFiles(keys: readonly string[]): Promise<void>;
  /** Bodies whose files are gone, and the files of some of them. */
  missingBodies(): Promise<{ readonly count: number; readonly some: readonly string[] }>;
  /** Reads all of them, one after the other. */
  checkBodies(): AsyncIterable<CheckedBody>;
  /** What is wrong with the database itself, in SQLite's words; null where nothing is. Reads all of it, at once. */
  checkDatabase(): Promise<string | null>;
  /** What a server has read by itself; null in a command. */
  scrubState(): ScrubState | null;
}

/** One machine, any number of processes, no daemon: everything in one SQLite database, large bodies in files beside it. */
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
  return {
    blobs,
    records: new SqliteRecords(store, logs),
    logs,
    // A store that this process has alone admits no connections of threads.
    index: new SqliteSearchIndex(store, alone ? undefined : o.indexThreads),
    limits,
    moving,
    now: () => env.now(),
    defer: (work, afterMs) => void deferred.defer(work, afterMs),
    sweep() {
      // One at a time: who asks while it runs gets the same answer.
      sweeping ??= sweep({ ...store, blobs, checkpoints, secureDelete }, sweeps++).finally(() => {
        sweeping = undefined;
      });
      return sweeping;
    },
    usage: () => readUsage(store),
    state: async () => ({
      ...{ engine: `SQLite in ${home}`, replicas: 1 },
      warnings: [
        ...(reserve.held ? [] : [reserve.warning()]),
        ...(alone ? [ALONE] : []),
        ...movingWarnings(await moving.moveStatus()),
      ],
    }),
    releaseReserve: () => reserve.release(),
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
  'The store was opened without room on its disk, and no other process can use it: start the relay anew once there is room.';

function checkDatabase(db: Database): Promise<string | null> {
  return db.retryWhileBusy(() => {
    const { integrity_check } = db.sql<{ integrity_check: string }>('PRAGMA integrity_check(1)').get()!;
    return integrity_check === 'ok' ? null : integrity_check;
  });
}
