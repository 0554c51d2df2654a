import { PAGE_ITEMS_MAX } from '../../../base/limits.ts';
import { everyItem } from '../../../base/pages.ts';
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
    const events: ThreadEvent[] = [];
    const read = ({ after = String(start) }) =>
      threads.events(id, { after, limit: end - start - events.length });
    for await (const event of everyItem('events', read)) {
      if (events.push(event) === end - start) break;
    }
    found = [...(o.wanted ? events.filter(o.wanted) : events), ...found];
  }
  return found.slice(Math.max(0, found.length - o.most));
}

/** Most of a thread's events make versions, but not all. */
const SMALLEST_STEP = 50;
