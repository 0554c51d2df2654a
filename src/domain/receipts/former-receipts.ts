import type { Deps } from '../deps.ts';
import { allRecords } from '../records.ts';

const HOUR = 3_600_000;

/** Earlier versions kept the receipts of a pointer in a log. */
export const formerStream = (id: string) => `rcp.${id}`;
/** They listed those to be dropped in a log for each hour, */
const dueStream = (hour: number) => `rcpdue.${hour}`;
/** with a record that says up to which hour that was done, */
const DONE = 'sys/receipts-due';
/** and before that in records, by the moment at which they were to be dropped. */
const DUE_RECORDS = 'sys.rcp/';

/**
 * Drops logs of receipts whose time has come, about `most` of them; false where some are left. `takeOver` drops one and keeps what is
 * in it where its pointer still lives.
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
