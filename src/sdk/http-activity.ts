import { type Activity, type ActivityPage, activity } from '../contract/activity.ts';
import { followEvents, lastingClient } from './event-stream.ts';
import type { HttpOptions } from './http-client.ts';
import { callOf, type HandMade, type VerbCalls } from './verb-calls.ts';

/** What happens, for as long as somebody watches. */
export function httpActivity(calls: VerbCalls, options: HttpOptions): HandMade<typeof activity> {
  return {
    async *watch(o) {
      // Known from the start, so that nothing is missed where the connection breaks before anything happened.
      const after = o.after ?? (await calls.call<ActivityPage>(activity.list, { limit: 1 })).newest;
      const headers = { Accept: 'text/event-stream' };
      const call = callOf(activity.watch, {}, { headers, repeatable: false, doing: 'watch' });
      yield* followEvents<Activity>(lastingClient(options, o.signal), call, { ...o, after });
    },
  };
}
