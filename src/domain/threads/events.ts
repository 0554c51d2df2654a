import { badRequest } from '../../base/errors.ts';
import { PAGE_ITEMS_MAX } from '../../base/limits.ts';
import type { ThreadEvent } from '../../contract/threads/answers.ts';
import { fromJson } from '../records.ts';
import { LEGACY_EVENT_ID, OWN_TYPE, toWire } from './event.ts';
import { logOf, type ThreadRoot } from './keys.ts';
import { bytesOf } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/** A page of events is cut off here, whatever its limit: one event may carry a megabyte of operations. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** A thread's log as others see it: oldest first, behind the event whose id is `after`. `next`: there are more. */
export const listEvents: ThreadVerb<'events'> = async (log, caller, id, o = {}) => {
  const { root } = await log.meta(caller, id);
  const after = await placeOf(log, root, o.after);
  const limit = o.limit ?? PAGE_ITEMS_MAX;
  const events: ThreadEvent[] = [];
  let bytes = 0;
  const place = await log.heads.placeOf(root, after);
  let { count } = place;
  for await (const { event } of log.heads.events(root, place.seq)) {
    count++;
    if (count <= after) continue;
    if (events.length === limit || (bytes > PAGE_BYTES && events.length > 0)) {
      return { events, next: String(count - 1) };
    }
    events.push(toWire(id, count, event));
    bytes += bytesOf(event.payload);
  }
  return { events };
};

/** Replays from behind `after`, then goes live, until the signal fires. */
export const watchEvents: ThreadVerb<'watch'> = async function* (log, caller, id, o) {
  const { root } = await log.meta(caller, id);
  const after = await placeOf(log, root, o.after);
  const place = await log.heads.placeOf(root, after);
  let { count } = place;
  const { logs } = log.deps.engine;
  for await (const entry of logs.subscribe(logOf(root), { after: place.seq, signal: o.signal })) {
    count++;
    if (count <= after) continue;
    yield toWire(id, count, await log.heads.whole(fromJson(entry.data)));
  }
};

/** Appends an event of somebody's own kind; it does not touch the state. */
export const recordEvent: ThreadVerb<'record'> = async (log, caller, id, type, payload = {}) => {
  if (!/^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+$/.test(type) || type.length > 64 || OWN_TYPE.test(type)) {
    throw badRequest(
      'The type of an event is two or more words with dots between, and none that the relay itself writes.',
    );
  }
  return log.note(caller, id, { type, at: log.deps.env.now(), payload: { ...payload, by: caller.name } });
};

/** How many events there are up to the one with this id. */
async function placeOf(log: ThreadLog, root: ThreadRoot, text: string | undefined): Promise<number> {
  if (text === undefined || text === '') return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (LEGACY_EVENT_ID.test(text)) {
    let count = 0;
    for await (const { event } of log.heads.events(root, 0)) {
      count++;
      if (event.legacy?.id === text) return count;
    }
  }
  throw badRequest(`"${text.slice(0, 40)}" is not the id of an event.`);
}
