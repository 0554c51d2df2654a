import type { Deps } from '../deps.ts';
import { allRecords } from '../records.ts';

const HOUR = 3_600_000;

/** Stream in which earlier versions stored the receipts of a pointer. */
export const formerStream = (id: string) => `rcp.${id}`;
/**
 * Stream in which earlier versions listed the pointers whose receipts expire in one hour. `hour` is the
 * number of hours since the epoch.
 */
const dueStream = (hour: number) => `rcpdue.${hour}`;
/** Record with the number of the last hour for which the listed receipts were deleted. */
const DONE = 'sys/receipts-due';
/**
 * Prefix of records, sorted by time, that list the receipts to delete. The oldest versions wrote these
 * records; later versions used the streams above.
 */
const DUE_RECORDS = 'sys.rcp/';

/**
 * Deletes about `most` receipt logs of earlier versions that have expired. Returns false if some are left. `takeOver`
 * deletes one log; if the pointer still exists, it first moves the receipts into the record. The limit does not apply
 * to logs that are listed under `DUE_RECORDS`: one call handles all of them.
 */
export async function dropFormerReceipts(
  { engine: { logs, records }, env }: Pick<Deps, 'engine' | 'env'>,
  takeOver: (id: string) => Promise<void>,
  most = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const done = await records.get(DONE);
  if (!done) {
    for await (const { key } of allRecords(records, DUE_RECORDS)) {
      await takeOver(key.slice(key.lastIndexOf('/') + 1));
      await records.delete(key);
    }
    return true;
  }
  const over = Math.floor(env.now() / HOUR);
  let left = most;
  for (let hour = Number(done.value) + 1; hour <= over && left > 0; hour++) {
    const limit = Math.min(500, left);
    const { entries } = await logs.read(dueStream(hour), { limit });
    await Promise.all(entries.map(({ data }) => takeOver(String(data))));
    left -= Math.max(1, entries.length);
    if (entries.length === limit && entries.at(-1)!.seq < (await logs.info(dueStream(hour))).last) {
      await logs.trim(dueStream(hour), { before: entries.at(-1)!.seq + 1 });
      hour--;
      continue;
    }
    await logs.drop(dueStream(hour));
    await records.put(DONE, hour);
  }
  return left > 0;
}
