import { join } from 'node:path';
import type { Env } from '../../base/env.ts';
import { isRelayError, RelayError } from '../../base/errors.ts';
import { everyItem } from '../../base/pages.ts';
import { ARTIFACT_FILES } from '../../domain/threads/keys.ts';
import type { IndexThreads } from '../../engines/index-thread.ts';
import { BUCKET_RECORD, STUB_BYTES } from '../../engines/s3/stub.ts';
import type { CheckedBody } from '../../engines/sqlite/body-check.ts';
import type { SqliteEngine } from '../../engines/sqlite/engine.ts';
import type { BodyFault } from '../../kernel/block-hashes.ts';
import type { Engine } from '../../kernel/engine.ts';
import { ARRIVING_KEY } from '../../kernel/moving.ts';
import type { Config } from '../config.ts';
import { homeEngine } from '../serve/pid-file.ts';
import { remoteEngineAt } from './remote-engines.ts';

/** Checks of the stored data that the ports do not offer. */
export type StoreChecks = Pick<
  SqliteEngine,
  'missingBodies' | 'checkBodies' | 'checkDatabase' | 'scrubState'
>;

export interface OpenedEngine {
  readonly engine: Engine;
  readonly checks: StoreChecks;
  /** On a full disk, frees reserved space for a few small files. Missing for a cluster. */
  readonly freeReserve?: () => void;
  /** Lets the last writes commit without fsync: nobody waits for them. Missing for a cluster. */
  readonly stopSyncing?: () => void;
  /** Access to the readable files of threads. Null if the store is a cluster. */
  readonly readableFiles: ReadableFiles | null;
}

export interface ReadableFiles {
  readonly home: string;
  /** Writes contents of artifacts to files. Files that already exist stay unchanged. */
  makeFiles(keys: readonly string[]): Promise<void>;
}

/** Opens the engine that the configuration names. Only the code of that engine is loaded. */
export async function openEngine(
  config: Config,
  role: 'server' | 'cli',
  env: Env,
  warn: (what: string) => void,
  o: { readonly indexThreads?: IndexThreads } = {},
): Promise<OpenedEngine> {
  const { home, durability } = config;
  const url = role === 'cli' ? homeEngine(config) : config.engine;
  if (url !== null) {
    const engine = await remoteEngineAt(url)!.open(url, {
      env,
      role,
      ...o,
      indexFile: join(home, 'index.db'),
      ...(role === 'server' ? { waits: warn } : {}),
    });
    await refuseArriving(engine, 'that cluster');
    const whole = await besideBucket(engine, { address: config.blobs, isShared: role === 'server' });
    return { engine: whole, checks: checksThroughPorts(whole), readableFiles: null };
  }
  const { openSqlite } = await import('../../engines/sqlite/engine.ts');
  const engine = await openSqlite({ home, env, durability, role, ...o, place: ARTIFACT_FILES, warn });
  await refuseArriving(engine, home);
  const whole = await besideBucket(engine, { address: config.blobs, stays: isArtifactFile });
  const checks =
    whole === engine ? engine : { ...engine, checkBodies: () => checkAlsoInBucket(engine, whole) };
  const { releaseReserve: freeReserve, stopSyncing, makeFiles } = engine;
  return { engine: whole, checks, freeReserve, stopSyncing, readableFiles: { home, makeFiles } };
}

/**
 * Returns the engine with its large bodies in a bucket: the bucket that the caller names or that the store has
 * recorded. The credentials come from the environment. Without a bucket, returns the engine itself. An engine that
 * other servers share is always wrapped, because one of these servers may add a bucket later.
 */
export async function besideBucket<E extends Engine>(
  engine: E,
  o: {
    readonly address: string | null;
    readonly isShared?: boolean;
    readonly stays?: (key: string) => boolean;
  },
): Promise<E> {
  if (!o.isShared && o.address === null && (await engine.records.get(BUCKET_RECORD)) === null) return engine;
  const { withBucket } = await import('../../engines/s3/engine.ts');
  return withBucket(engine, { ...o, env: process.env }).catch(async (error) => {
    await engine[Symbol.asyncDispose]();
    throw error;
  });
}

/**
 * Returns whether a blob key belongs to the content of an artifact. Such content always stays a readable file,
 * however large it is.
 */
export function isArtifactFile(key: string): boolean {
  return ARTIFACT_FILES.path(key) !== undefined;
}

/** Throws if the store is the target of an unfinished copy. */
async function refuseArriving(engine: Engine, path: string): Promise<void> {
  const found = await engine.records.get(ARRIVING_KEY);
  if (found === null) return;
  await engine[Symbol.asyncDispose]();
  throw new RelayError('store_arriving', { path, from: (found.value as { from: string }).from });
}

/** Checks bodies in the engine's own storage directly, and those in the bucket through the ports. */
async function* checkAlsoInBucket(engine: SqliteEngine, { blobs }: Engine): AsyncGenerator<CheckedBody> {
  for await (const found of engine.checkBodies()) {
    if (found.fault !== null || found.size !== STUB_BYTES) yield found;
    else {
      const { items } = await blobs.list(found.key, { limit: 1 });
      const [fault, size] = [await faultOf(blobs, found.key), items[0]?.size ?? found.size];
      yield { ...found, size, fault, file: size === STUB_BYTES ? found.file : null };
    }
  }
}

/** Returns the checks for a cluster. Bodies are checked through the ports; the other checks find no problems. */
function checksThroughPorts({ blobs }: Engine): StoreChecks {
  return {
    missingBodies: async () => ({ count: 0, some: [] }),
    checkDatabase: async () => null,
    scrubState: () => null,
    async *checkBodies() {
      for await (const { key, size } of everyItem('items', (o) => blobs.list('', o))) {
        yield { key, size, file: null, fault: await faultOf(blobs, key) };
      }
    },
  };
}

/** Reads a whole body and returns its fault, or null. A body that was deleted meanwhile has no fault. */
async function faultOf(blobs: Engine['blobs'], key: string): Promise<BodyFault | null> {
  try {
    const found = await blobs.get(key);
    if (found && !(found.body instanceof Uint8Array)) for await (const _ of found.body);
    return null;
  } catch (error) {
    if (isRelayError(error, 'store_damaged')) return error.details.fault as BodyFault;
    throw error;
  }
}
