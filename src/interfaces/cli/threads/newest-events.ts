import { PAGE_ITEMS_MAX } from '../../../base/limits.ts';
import type { ThreadEvent } from '../../../contract/threads/answers.ts';
import type { ThreadsApi } from '../../../contract/threads.ts';

/**
 * The newest events that are wanted, oldest first. A log is read forwards, so it goes back from the end in steps: the
 * length of the history does not matter.
 */
export async function newestEvents(
  threads: ThreadsApi,
  id: string,
  o: { readonly most: number; readonly wanted?: (event: ThreadEvent) => boolean },
): Promise<ThreadEvent[]> {
  const { event_count } = await threads.get(id);
  const step = Math.min(Math.max(o.most, SMALLEST_STEP), PAGE_ITEMS_MAX);
  let found: ThreadEvent[] = [];
  for (let end = event_count; end > 0 && found.length < o.most; end -= step) {
    const start = Math.max(0, end - step);
    const events = await between(threads, id, start, end);
    found = [...(o.wanted ? events.filter(o.wanted) : events), ...found];
  }
  return found.slice(Math.max(0, found.length - o.most));
}

/** Most of a thread's events make versions, but not all. */
const SMALLEST_STEP = 50;

async function between(threads: ThreadsApi, id: string, start: number, end: number): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  while (start + events.length < end) {
    const after = String(start + events.length);
    const page = await threads.events(id, { after, limit: end - start - events.length });
    events.push(...page.events);
    if (page.events.length === 0) break;
  }
  return events;
}
