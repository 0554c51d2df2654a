import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { skipHandles } from '../../domain/pointers/record.ts';
import { ARTIFACT_FILES } from '../../domain/threads/keys.ts';
import { BUCKET_RECORD } from '../../engines/s3/stub.ts';
import type { CopyReport, EngineCopied } from '../../interfaces/cli/host.ts';
import type { Usage } from '../../kernel/engine.ts';
import { ARRIVING_KEY } from '../../kernel/moving.ts';
import { type Environment, loadConfig } from '../config.ts';
import { makeHome } from './home.ts';
import type { Warn } from './open-core.ts';
import { besideBucket, isArtifactFile } from './open-engine.ts';
import { remoteEngineAt } from './remote-engines.ts';
import { type MovableEngine, StoreCopy } from './store-copy.ts';

/**
 * Time in ms for which a copy stops writes to its source. A running copy renews the stop before this time ends. If
 * the copy is killed, the source accepts writes again after this time.
 */
const FROZEN_MS = 30_000;
const RENEW_MS = 10_000;
/**
 * If a pass takes less than this time, in ms, the next pass is the last one. Little can have changed during such a
 * short pass. So the last pass, which stops writes, will be short too.
 */
const SHORT_MS = 2_000;
/** Maximum number of passes while other processes write to the source. */
const PASSES = 10;
/** Maximum number of attempts of the last pass, which stops writes to the source. */
const ATTEMPTS = 3;

/** An open store: a cluster or a home folder. */
export interface OpenStore extends AsyncDisposable {
  readonly engine: MovableEngine;
  /** Address or folder of the store, without secrets. */
  readonly name: string;
  /** Folder of the store, or null for a cluster. */
  readonly home: string | null;
}

/**
 * Opens a store. `blobs` is the bucket for the large bodies of a target. A source needs no `blobs`, because the
 * store has recorded its bucket.
 */
export async function openPlace(
  place: string,
  role: 'source' | 'target',
  { warn, blobs = null }: { readonly warn?: Warn; readonly blobs?: string | null } = {},
): Promise<OpenStore> {
  const remote = remoteEngineAt(place);
  if (remote) {
    const engine = await remote.open(place);
    return {
      engine: await besideBucket(engine, { address: blobs }),
      name: await remote.displayAddress(place),
      home: null,
      [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
    };
  }
  const home = resolve(place);
  if (role === 'source' && !existsSync(join(home, 'relay.db')))
    throw new RelayError('no_store', { what: 'store', path: home });
  makeHome(home);
  const { openSqlite } = await import('../../engines/sqlite/engine.ts');
  // The role `server` lets thousands of copied bodies share fsyncs.
  const engine = await openSqlite({
    home,
    role: role === 'target' ? 'server' : 'cli',
    place: ARTIFACT_FILES,
    warn,
  });
  const whole = await besideBucket(engine, { address: blobs, stays: isArtifactFile });
  return { engine: whole, name: home, home, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

/**
 * Copies a store that may be in use. At the end, writes to the source are stopped permanently, and everybody
 * has to use the copy.
 */
export async function copyEngine(
  o: {
    readonly from: string;
    readonly to: string;
    /** Address of the bucket for the large bodies of the target. */
    readonly blobs?: string;
    readonly env: Environment;
    readonly warn?: Warn;
  },
  report: CopyReport,
): Promise<EngineCopied> {
  let copied: EngineCopied;
  let home: string | null;
  {
    await using from = await openPlace(o.from, 'source', { warn: o.warn });
    await using to = await openPlace(o.to, 'target', { blobs: o.blobs });
    home = to.home;
    copied = await copyStore(from, to, report);
  }
  if (home !== null) await writeReadableFiles(home, o.env);
  return copied;
}

export async function copyStore(from: OpenStore, to: OpenStore, report: CopyReport): Promise<EngineCopied> {
  if (from.name === to.name)
    throw new RelayError('bad_usage', {
      what: 'Source and target are the same store.',
      command: 'engine copy',
    });
  const left = await from.engine.moving.moveStatus();
  if (left?.ms === null && left.to !== to.name) throw new RelayError('store_moved', { to: left.to });
  const isDone = left?.ms === null && (await to.engine.records.get(ARRIVING_KEY)) === null;
  if (isDone && itemsOf(await to.engine.usage()) > 0) {
    const done = new StoreCopy(from.engine, to.engine);
    await done.learn();
    return { from: from.name, to: to.name, ...done.counts(), lost: [], frozen_ms: 0 };
  }
  const copy = await beginCopy(from, to, report);
  for (let pass = 0; pass < PASSES; pass++) {
    const began = performance.now();
    const changed = await copy.pass();
    if (changed === 0 || performance.now() - began < SHORT_MS) break;
  }
  report.step('check', itemsOf(await from.engine.usage()));
  await copy.verify();
  report.step('switch', 0);
  const frozenMs = Math.round(await switchOver(from, to, copy));
  await to.engine.records.delete(ARRIVING_KEY);
  return { from: from.name, to: to.name, ...copy.counts(), lost: [...copy.lost], frozen_ms: frozenMs };
}

/**
 * Allows writes again to a store that was copied elsewhere. In the result, `store` is the name of the store, and
 * `was` is the target of the copy, or null if writes were not stopped.
 */
export async function reopenEngine(
  place: string,
  warn?: Warn,
): Promise<{ store: string; was: string | null }> {
  await using store = await openPlace(place, 'source', { warn });
  const was = await store.engine.moving.moveStatus();
  await store.engine.moving.thaw();
  // Skip handles that the target of the copy may have issued since, otherwise one handle could name two
  // pointers.
  if (was !== null) await skipHandles(store.engine);
  return { store: store.name, was: was?.to ?? null };
}

/**
 * Starts or resumes a copy. The target must be empty or contain an unfinished copy of the same source. Other
 * commands cannot open it until the copy is complete.
 */
export async function beginCopy(from: OpenStore, to: OpenStore, report: CopyReport): Promise<StoreCopy> {
  const { records, moving } = to.engine;
  const arriving = await records.get(ARRIVING_KEY);
  const before = (arriving?.value as { from: string } | undefined)?.from;
  if (arriving === null && itemsOf(await to.engine.usage()) > 0)
    throw new RelayError('conflict', {
      what: `The target ${to.name} already contains a store.`,
      hint: 'Copy to an empty target: a new folder, or nats://…/NAME with another name.',
    });
  if (before !== undefined && before !== from.name)
    throw new RelayError('conflict', {
      what: `The target ${to.name} contains an unfinished copy of another store, ${before}.`,
    });
  await moving.prepare(await from.engine.moving.highestNumber());
  if (arriving === null) await records.put(ARRIVING_KEY, { from: from.name });
  const copy = new StoreCopy(from.engine, to.engine, (items) => report.add(items));
  await copy.learn();
  report.step('copy', itemsOf(await from.engine.usage()));
  return copy;
}

/**
 * Stops writes to the source and copies the last changes. On success, writes stay stopped. Returns the
 * duration in ms.
 */
async function switchOver(from: OpenStore, to: OpenStore, copy: StoreCopy): Promise<number> {
  const { moving } = from.engine;
  const began = performance.now();
  let renewing: Promise<void> = Promise.resolve();
  const freeze = () => moving.freeze({ to: to.name, ms: FROZEN_MS });
  const isGone = (await moving.moveStatus())?.ms === null;
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (!isGone) await freeze();
      const timer = setInterval(() => {
        // If a renewal fails, the source may accept writes again. `leave` below then returns false, and the
        // pass is repeated.
        renewing = renewing.then(freeze).catch(() => {});
      }, RENEW_MS);
      try {
        await copy.pass({ checked: true });
      } finally {
        clearInterval(timer);
        await renewing;
      }
      await to.engine.moving.prepare(await moving.highestNumber());
      if (isGone || (await moving.leave({ to: to.name }))) return performance.now() - began;
    }
  } catch (error) {
    if (!isGone) await moving.thaw();
    throw error;
  }
  throw new RelayError('busy', {
    what: 'programs wrote too much during the last step of the copy',
    hint: 'The source accepts writes again. Run the command again when less is written; it continues where it stopped.',
  });
}

/** Writes the readable files of all threads in a home. */
export async function writeReadableFiles(home: string, env: Environment): Promise<void> {
  const { repairStore } = await import('./maintenance.ts');
  await repairStore({ ...loadConfig(env, { home }), engine: null, remote: null });
}

function itemsOf({ blobs, records, entries }: Usage): number {
  return blobs.count + records + entries;
}

const SILENT = { step: () => {}, add: () => {} };

/**
 * Number of passes of a backup. Each pass finds fewer changes. Logs that still change after these passes are copied
 * one by one.
 */
const BACKUP_PASSES = 2;

/**
 * Returns whether a bucket holds some bodies of this home. The files of the home alone are then no complete backup.
 */
export async function hasBucket(home: string): Promise<boolean> {
  if (!existsSync(join(home, 'relay.db'))) return false;
  await using store = await openPlace(home, 'source');
  return (await store.engine.records.get(BUCKET_RECORD)) !== null;
}

/**
 * Copies a store in a cluster or with a bucket into a new home folder. The copy needs neither the cluster nor the
 * bucket. Servers may write to the store meanwhile: each thread and each channel is copied in the state of one
 * moment. The copy is verified at the end. An interrupted backup continues when it is started again.
 */
export async function backupByCopy(place: string, target: string): Promise<{ lost: string[] }> {
  const isBegun = existsSync(join(target, 'relay.db'));
  if (!isBegun && existsSync(target) && readdirSync(target).length > 0)
    throw new RelayError('conflict', {
      what: `${target} is not empty.`,
      hint: 'Back up to a folder that does not exist yet.',
    });
  await using from = await openPlace(place, 'source');
  await using to = await openPlace(target, 'target');
  const copy = await beginCopy(from, to, SILENT);
  for (let pass = 0; pass < BACKUP_PASSES; pass++) await copy.pass();
  await copy.settle();
  return await finish(copy, from, to);
}

/**
 * Copies a backup, or a home folder that is not in use, into an empty cluster or into a store with a bucket.
 */
export async function restoreByCopy(
  source: string,
  target: string,
  o: { force: boolean; partial: boolean; blobs: string | null; env: Environment; warn?: Warn },
): Promise<{ lost: string[] }> {
  if (o.force)
    throw new RelayError('bad_usage', {
      what: '--force cannot replace a store in a cluster or with a bucket.',
      hint: 'Restore to an empty target: another home, or nats://…/NAME',
    });
  let home: string | null;
  let restored: { lost: string[] };
  {
    await using from = await openPlace(source, 'source', { warn: o.warn });
    await using to = await openPlace(target, 'target', { blobs: o.blobs });
    home = to.home;
    restored = await restoreStore(from, to, o.partial);
  }
  if (home !== null) await writeReadableFiles(home, o.env);
  return restored;
}

async function restoreStore(from: OpenStore, to: OpenStore, partial: boolean): Promise<{ lost: string[] }> {
  const copy = await beginCopy(from, to, SILENT);
  await copy.pass();
  if (copy.lost.size > 0 && !partial)
    throw new RelayError('store_damaged', {
      what: `in ${from.name}, ${copy.lost.size} payloads are missing or damaged (${[...copy.lost].slice(0, 3).join(', ')})`,
      hint: 'Use another backup, or restore everything else from this one: relay restore --partial',
    });
  const restored = await finish(copy, from, to);
  await skipHandles(to.engine);
  return restored;
}

/**
 * Skips handles after a restore into this home. The store may have issued them after the backup was made, and
 * no handle may name two pointers.
 */
export async function skipHandlesAt(home: string): Promise<void> {
  await using store = await openPlace(home, 'source');
  await skipHandles(store.engine);
}

/**
 * Verifies the copy and marks the target as complete. Returns the keys of bodies that are damaged in the
 * source.
 */
async function finish(copy: StoreCopy, from: OpenStore, to: OpenStore): Promise<{ lost: string[] }> {
  await copy.verify();
  await to.engine.moving.prepare(await from.engine.moving.highestNumber());
  await to.engine.records.delete(ARRIVING_KEY);
  return { lost: [...copy.lost] };
}
