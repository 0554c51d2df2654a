import { type Activity, activity } from '../../contract/activity.ts';
import type { Serve } from './callers.ts';
import type { HttpDeps } from './deps.ts';
import { liveEvents } from './event-stream.ts';

/** What happens in a tenant, as it happens. A reader that comes back says with `Last-Event-ID` how far it was. */
export function activityRoutes(serve: Serve, deps: HttpDeps): void {
  serve(activity.watch, async (relay, c) => {
    const after = c.req.header('last-event-id') ?? c.req.query('after');
    // What is wrong is told before the stream begins, and so is where it begins.
    const { newest } = await relay.activity.list({ after, limit: 1 });
    const from = after ?? newest;
    return liveEvents(c, deps, (signal) => relay.activity.watch({ after: from, signal }), eventOf, from);
  });
}

function eventOf(entry: Activity): string {
  return `id: ${entry.id}\ndata: ${JSON.stringify(entry)}\n\n`;
}
