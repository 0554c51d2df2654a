import type * as shapes from '../schemas/activity.ts';
import { verbs } from './verb.ts';

export type * from '../schemas/activity.ts';

/** For calls within a process and for clients; it does not travel. */
export interface WatchState {
  /** Called when the connection stands, and when it broke and is taken up again. */
  readonly state?: (state: 'live' | 'lost') => void;
}

const verb = verbs({ scope: 'subscribe', args: [] });

/** What happens in a tenant. What the caller's key is kept from is left out. */
export const activity = {
  list: verb<
    (o?: { after?: string; limit?: number; kind?: shapes.ActivityKind }) => Promise<shapes.ActivityPage>
  >('activity.list')({ summary: 'What happened lately, newest first', route: 'GET /activity' }),
  /** What comes from now on, or what came behind `after` and then that. Ends when the signal fires. */
  watch: verb<
    (o: { after?: string; signal: AbortSignal } & WatchState) => AsyncIterable<shapes.Activity>,
    'input' | 'output'
  >('activity.watch')({
    summary: 'What happens, as it happens, as server-sent events',
    route: 'GET /activity/events',
    headers: { last_event_id: 'Last-Event-ID' },
    byHand: 'both',
    streams: true,
  }),
  figures: verb<(o?: { hours?: number; step?: shapes.FigureStep }) => Promise<shapes.FiguresReport>>(
    'activity.figures',
  )({
    summary: 'What happened in the last hours, in figures by the hour or the day',
    route: 'GET /figures',
  }),
};
