import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { BUCKET_RECORD } from '../../engines/s3/stub.ts';
import { ARRIVING } from '../../kernel/moving.ts';
import type { Environment } from '../config.ts';
import { beginCopy, makeLegible, type OpenStore, openPlace } from './engine-copy.ts';
import type { Warn } from './open-core.ts';
import type { StoreCopy } from './store-copy.ts';

const SILENT = { step: () => {}, add: () => {} };

/** Passes beside those who write, of which each finds less to do. */
const PASSES = 2;

/** Whether bodies of the store in this home lie elsewhere, so that its files are not all of it. */
export async function hasBucket(home: string): Promise<boolean> {
  if (!existsSync(join(home, 'relay.db'))) return false;
  await using store = await openPlace(home, 'source');
  return (await store.engine.records.get(BUCKET_RECORD)) !== null;
}

/**
 * Copies a store, that of a cluster or one with bodies in a bucket, into a new home folder that needs neither, while servers go on writing: each thread and each channel as it was at one
 * moment, and all of it read again. One that was interrupted goes on when it is made again.
 */
export async function backupByCopy(place: string, target: string): Promise<{ lost: string[] }> {
  const isBegun = existsSync(join(target, 'relay.db'));
  if (!isBegun && existsSync(target) && readdirSync(target).length > 0)
    throw new RelayError('conflict', {
      what: `${target} is not empty.`,
      hint: 'Back up into a folder that does not exist yet.',
    });
  await using from = await openPlace(place, 'source');
  await using to = await openPlace(target, 'target');
  const copy = await beginCopy(from, to, SILENT);
  for (let pass = 0; pass < PASSES; pass++) await copy.pass();
  await copy.settle();
  return await finish(copy, from, to);
}

/** Puts a backup, or any home folder that is not in use, into an empty store, that of a cluster or one with a bucket. */
export async function restoreByCopy(
  source: string,
  target: string,
  o: { force: boolean; partial: boolean; blobs: string | null; env: Environment; warn?: Warn },
): Promise<{ lost: string[] }> {
  if (o.force)
    throw new RelayError('bad_usage', {
      what: 'A store of a cluster, or one with a bucket, is not replaced.',
      hint: 'Restore into an empty one: another home, or nats://…/name',
    });
  let home: string | null;
  let restored: { lost: string[] };
  {
    await using from = await openPlace(source, 'source', { warn: o.warn });
    await using to = await openPlace(target, 'target', { blobs: o.blobs });
    home = to.home;
    restored = await restoreStore(from, to, o.partial);
  }
  if (home !== null) await makeLegible(home, o.env);
  return restored;
}

async function restoreStore(from: OpenStore, to: OpenStore, partial: boolean): Promise<{ lost: string[] }> {
  const copy = await beginCopy(from, to, SILENT);
  await copy.pass();
  if (copy.lost.size > 0 && !partial)
    throw new RelayError('store_damaged', {
      what: `${from.name}: of ${copy.lost.size} bodies there is not what was stored (${[...copy.lost].slice(0, 3).join(', ')})`,
      hint: 'Take another backup, or all of this one that is whole: relay restore --partial',
    });
  return await finish(copy, from, to);
}

/** All of it is compared, and then it is a store. */
async function finish(copy: StoreCopy, from: OpenStore, to: OpenStore): Promise<{ lost: string[] }> {
  await copy.verify();
  await to.engine.moving.prepare(await from.engine.moving.highest());
  await to.engine.records.delete(ARRIVING);
  return { lost: [...copy.lost] };
}
