import type * as shapes from '../schemas/activity.ts';
import { verbs } from './verb.ts';

export type * from '../schemas/activity.ts';

/** Callbacks in the client. They are not sent to the server. */
export interface WatchState {
  /** Called when the connection is established (`live`) and when it breaks and is being reopened (`lost`). */
  readonly state?: (state: 'live' | 'lost') => void;
}

const verb = verbs({ scope: 'subscribe', args: [] });

/** The activity log of a tenant. It omits entries that the caller's API key may not see. */
export const activity = {
  list: verb<
    (o?: { after?: string; limit?: number; kind?: shapes.ActivityKind }) => Promise<shapes.ActivityPage>
  >('activity.list')({ summary: 'List recent activity, newest first', route: 'GET /activity' }),
  /**
   * Yields new activity entries. With `after`, first yields the entries after this id. Ends when the signal aborts.
   */
  watch: verb<
    (o: { after?: string; signal: AbortSignal } & WatchState) => AsyncIterable<shapes.Activity>,
    'input' | 'output'
  >('activity.watch')({
    summary: 'Stream activity as server-sent events',
    route: 'GET /activity/events',
    headers: { last_event_id: 'Last-Event-ID' },
    byHand: 'both',
    streams: true,
  }),
  figures: verb<(o?: { hours?: number; step?: shapes.FigureStep }) => Promise<shapes.FiguresReport>>(
    'activity.figures',
  )({
    summary: 'Get activity figures of the last hours, per hour or per day',
    route: 'GET /figures',
  }),
  /** Returns an empty report for an API key with a channel prefix, because the figures are about all threads. */
  spending: verb<(o?: { days?: number }) => Promise<shapes.SpendingReport>>('activity.spending')({
    summary: 'Get the tokens of prompts by day, thread, agent and model, and the configured prices',
    scope: 'threads',
    route: 'GET /spending',
  }),
};
