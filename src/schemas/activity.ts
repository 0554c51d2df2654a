import { z } from 'zod';
import { ACTIVITY_KINDS, FIGURE_STEPS } from '../base/enums.ts';
import { count, limit, next, optionalText, type SchemaRows, type Shape, text, time } from './shapes.ts';

const optionalCount = count.optional();

const kind = z.enum(ACTIVITY_KINDS);
export type ActivityKind = Shape<typeof kind>;

const entry = z.object({
  /** Its place: `after` takes it. */
  id: text,
  at: time,
  kind,
  /** Who did it; `relay` for the relay itself. */
  by: text,
  pointer: optionalText,
  channel: optionalText,
  group: optionalText,
  seq: optionalCount,
  thread: optionalText,
  event: optionalText.describe('the id of the thread’s event'),
  type: optionalText.describe('the type of the thread’s event'),
  version: optionalCount,
  artifact: optionalText,
  task: optionalText,
  agent: optionalText,
  key: optionalText.describe('the id of an API key'),
  share: optionalText.describe('the id of a share link'),
  /** Of the thread, artifact, pipeline, step or key. */
  name: optionalText,
  status: optionalText,
  size: optionalCount,
  /** How many of its kind it stands for, where that is more than one. */
  count: optionalCount,
});
/** Something that happened, by the name of the thing. Never a payload, metadata, a key or a fragment. */
export interface Activity extends Shape<typeof entry> {}

const activityPage = z.object({
  /** Newest first. */
  activities: z.array(entry),
  ...next,
  /** Pass as `after` of `watch` to get all that follows. */
  newest: text,
});
export interface ActivityPage extends Shape<typeof activityPage> {}

const step = z.enum(FIGURE_STEPS);
export type FigureStep = Shape<typeof step>;

const point = z.object({
  /** When it begins. */
  at: time,
  pushes: count,
  pushed_bytes: count,
  pulls: count,
  signals: count,
  patches: count,
  artifacts: count,
  tasks_sent: count,
  tasks_done: count,
  tasks_failed: count,
  prompts: count,
  pasted_tokens: count,
  shown_tokens: count,
  /** Null where nothing was prompted. May be negative: then pasting would have been cheaper. */
  avoided_tokens: count.nullable().describe('null where nothing was prompted'),
  /** As it was last looked at within it; null where nobody looked. */
  storage_bytes: count.nullable().describe('null where nobody looked'),
});
/** What happened within an hour or a day, in UTC. */
export interface FiguresPoint extends Shape<typeof point> {}

const figuresReport = z.object({
  step,
  /** How `avoided_tokens` is worked out, in a sentence. */
  method: text,
  /** Oldest first, without a hole. */
  points: z.array(point),
});
export interface FiguresReport extends Shape<typeof figuresReport> {}

export const activitySchemas = {
  list: {
    input: z.object({
      after: optionalText.describe('the `next` of the page before'),
      limit: limit(200),
      kind: kind.optional(),
    }),
    output: activityPage,
  },
  watch: {
    input: z.object({
      after: optionalText.describe('an `id`; only what comes from now on by default'),
      last_event_id: optionalText,
    }),
    output: entry,
    content: ['text/event-stream'],
  },
  figures: { input: z.object({ hours: limit(744), step: step.optional() }), output: figuresReport },
} satisfies SchemaRows;
