import { type Api, verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

export const ACTIVITY_KINDS = [
  'pointer.pushed',
  'pointer.pulled',
  'pointer.revoked',
  'channel.signal',
  'group.claimed',
  'group.acked',
  'group.dead',
  'group.revived',
  'thread.created',
  'thread.patched',
  'thread.deleted',
  'thread.event',
  'artifact.created',
  'artifact.deleted',
  'pipeline.started',
  'pipeline.resumed',
  'pipeline.finished',
  'step.started',
  'step.done',
  'step.failed',
  'task.sent',
  'task.claimed',
  'task.done',
  'task.failed',
  'task.canceled',
  'agent.came',
  'agent.left',
  'key.created',
  'key.revoked',
  'key.rotated',
  'share.created',
  'share.revoked',
  /** So many that are not told one by one: more happened at once than anybody reads, or the store was slow. */
  'left_out',
  /** What came before is no longer kept: whoever goes by what it has been told looks at everything anew. */
  'gap',
] as const;
export type ActivityKind = (typeof ACTIVITY_KINDS)[number];

/** Something that happened, by the name of the thing. Never a payload, metadata, a key or a fragment. */
export interface Activity {
  /** Its place: `after` takes it. */
  readonly id: string;
  readonly at: string;
  readonly kind: ActivityKind;
  /** Who did it; `relay` for the relay itself. */
  readonly by: string;
  readonly pointer?: string;
  readonly channel?: string;
  readonly group?: string;
  readonly seq?: number;
  readonly thread?: string;
  /** The id and the type of the thread's event. */
  readonly event?: string;
  readonly type?: string;
  readonly version?: number;
  readonly artifact?: string;
  readonly task?: string;
  readonly agent?: string;
  /** The ids of a key and of a share link, never themselves. */
  readonly key?: string;
  readonly share?: string;
  /** Of the thread, artifact, pipeline, step or key. */
  readonly name?: string;
  readonly status?: string;
  readonly size?: number;
  /** How many of its kind it stands for, where that is more than one. */
  readonly count?: number;
}

export interface ActivityPage {
  /** Newest first. */
  readonly activities: readonly Activity[];
  /** Pass as `after` to go on to older ones; absent at the end. */
  readonly next?: string;
  /** Pass as `after` of `watch` to get all that follows. */
  readonly newest: string;
}

/** For calls within a process and for clients; it does not travel. */
export interface WatchState {
  /** Called when the connection stands, and when it broke and is taken up again. */
  readonly state?: (state: 'live' | 'lost') => void;
}

export const FIGURE_STEPS = ['hour', 'day'] as const;

/** What happened within an hour or a day, in UTC. */
export interface FiguresPoint {
  /** When it begins. */
  readonly at: string;
  readonly pushes: number;
  readonly pushed_bytes: number;
  readonly pulls: number;
  readonly signals: number;
  readonly patches: number;
  readonly artifacts: number;
  readonly tasks_sent: number;
  readonly tasks_done: number;
  readonly tasks_failed: number;
  readonly prompts: number;
  readonly pasted_tokens: number;
  readonly shown_tokens: number;
  /** Null where nothing was prompted. May be negative: then pasting would have been cheaper. */
  readonly avoided_tokens: number | null;
  /** As it was last looked at within it; null where nobody looked. */
  readonly storage_bytes: number | null;
}

export interface FiguresReport {
  readonly step: (typeof FIGURE_STEPS)[number];
  /** How `avoided_tokens` is worked out, in a sentence. */
  readonly method: string;
  /** Oldest first, without a hole. */
  readonly points: readonly FiguresPoint[];
}

const verb = verbs({ scope: 'subscribe', args: [] });

/** What happens in a tenant. What the caller's key is kept from is left out. */
export const activity = {
  list: verb<(o?: { after?: string; limit?: number; kind?: ActivityKind }) => Promise<ActivityPage>>(
    'activity.list',
  )({ summary: 'What happened lately, newest first', route: 'GET /activity' }),
  /** What comes from now on, or what came behind `after` and then that. Ends when the signal fires. */
  watch: verb<
    (o: { after?: string; signal: AbortSignal } & WatchState) => AsyncIterable<Activity>,
    'input' | 'output'
  >('activity.watch')({
    summary: 'What happens, as it happens, as server-sent events',
    route: 'GET /activity/events',
    headers: { last_event_id: 'Last-Event-ID' },
    byHand: 'both',
    streams: true,
  }),
  figures: verb<(o?: { hours?: number; step?: (typeof FIGURE_STEPS)[number] }) => Promise<FiguresReport>>(
    'activity.figures',
  )({
    summary: 'What happened in the last hours, in figures by the hour or the day',
    route: 'GET /figures',
  }),
};

export interface ActivityApi extends Api<typeof activity> {}
