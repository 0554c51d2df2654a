import { badRequest } from '../../base/errors.ts';
import { THREAD_TTL_MAX_S } from '../../base/limits.ts';
import type { Deps } from '../deps.ts';
import { type RecordsOf, recordsOf } from '../records.ts';

/** Which threads end when, of all tenants, the next one first. */
const INDEX = 'sys.thr/';
const endKey = (expires: number, id: string) => `${INDEX}${String(expires).padStart(15, '0')}/${id}`;
const PAGE = 100;

/** Enough to delete what is left of a thread, whose own record is gone by then. */
export interface ThreadEnd {
  readonly tenant: string;
  readonly id: string;
  readonly created: number;
}

/** Seconds from now, as a moment in ms; undefined for a thread that stays until it is deleted. */
export function checkThreadTtl(seconds: unknown, now: number): number | undefined {
  if (seconds === undefined || seconds === null) return undefined;
  if (typeof seconds === 'number' && seconds >= 1 && seconds <= THREAD_TTL_MAX_S) {
    return now + Math.round(seconds * 1000);
  }
  throw badRequest(`A thread lives from 1 to ${THREAD_TTL_MAX_S} seconds, or until it is deleted.`);
}

export async function noteThreadEnd({ engine }: Deps, expires: number, end: ThreadEnd): Promise<void> {
  await endsOf({ engine }).put(endKey(expires, end.id), end);
}

/** For a thread that is deleted before its end. */
export async function forgetThreadEnd({ engine }: Deps, expires: number, id: string): Promise<void> {
  await engine.records.delete(endKey(expires, id));
}

export async function hasExpiredThreads(deps: Deps): Promise<boolean> {
  return (await expiredThreads(deps, 1)).length > 0;
}

/** Hands over each thread that has expired, and forgets it when that is done. */
export async function forExpiredThreads(
  deps: Deps,
  remove: (end: ThreadEnd) => Promise<void>,
): Promise<void> {
  for (;;) {
    const due = await expiredThreads(deps, PAGE);
    for (const { key, value } of due) {
      await remove(value);
      await deps.engine.records.delete(key);
    }
    if (due.length < PAGE) return;
  }
}

async function expiredThreads(deps: Deps, limit: number) {
  const { items } = await endsOf(deps).list(INDEX, { limit });
  return items.filter(({ key }) => Number(key.slice(INDEX.length).split('/')[0]) <= deps.env.now());
}

function endsOf({ engine }: Pick<Deps, 'engine'>): RecordsOf<ThreadEnd> {
  return recordsOf(engine.records);
}
