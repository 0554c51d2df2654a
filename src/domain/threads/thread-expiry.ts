import { badRequest } from '../../base/errors.ts';
import { THREAD_TTL_MAX_S } from '../../base/limits.ts';
import type { Deps } from '../deps.ts';
import { EndIndex } from '../end-index.ts';

/** Enough to delete what is left of a thread, whose own record is gone by then. */
export interface ThreadEnd {
  readonly tenant: string;
  readonly id: string;
  readonly created: number;
}

/** Which threads end when. */
export const threadEnds = (deps: Pick<Deps, 'engine' | 'env'>) => new EndIndex<ThreadEnd>(deps, 'sys.thr/');

/** Seconds from now, as a moment in ms; undefined for a thread that stays until it is deleted. */
export function checkThreadTtl(seconds: unknown, now: number): number | undefined {
  if (seconds === undefined || seconds === null) return undefined;
  if (typeof seconds === 'number' && seconds >= 1 && seconds <= THREAD_TTL_MAX_S) {
    return now + Math.round(seconds * 1000);
  }
  throw badRequest(`A thread lives from 1 to ${THREAD_TTL_MAX_S} seconds, or until it is deleted.`);
}
