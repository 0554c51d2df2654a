import { z } from 'zod';
import { ACTIVITY_KINDS, FIGURE_STEPS } from '../base/enums.ts';
import {
  count,
  handle,
  limit,
  next,
  optionalText,
  type SchemaRows,
  type Shape,
  statedAgent,
  text,
  time,
} from './shapes.ts';

const optionalCount = count.optional();

const kind = z.enum(ACTIVITY_KINDS);
export type ActivityKind = Shape<typeof kind>;

const entry = z.object({
  /** Position of the entry in the log. Pass it as `after`. */
  id: text,
  at: time,
  kind,
  /** Name of the caller; `relay` if the relay itself did it. */
  by: text,
  by_agent: statedAgent.agent,
  pointer: optionalText,
  handle,
  channel: optionalText,
  group: optionalText,
  seq: optionalCount,
  thread: optionalText,
  event: optionalText.describe('id of the thread event'),
  type: optionalText.describe('type of the thread event'),
  version: optionalCount,
  artifact: optionalText,
  space: optionalText.describe('space of the file; `name` is its path'),
  task: optionalText,
  agent: optionalText,
  key: optionalText.describe('id of the API key'),
  share: optionalText.describe('id of the share link'),
  question: optionalText.describe('id of the question'),
  /** Name of the thread, artifact, pipeline, step or key; path of the file. */
  name: optionalText,
  status: optionalText,
  size: optionalCount,
  /** Number of events that this entry counts. Absent if it is one event. */
  count: optionalCount,
});
/** One entry of the activity log. It never contains a payload, metadata, an API key or an encryption key. */
export interface Activity extends Shape<typeof entry> {}

const activityPage = z.object({
  /** The entries, newest first. */
  activities: z.array(entry),
  ...next,
  /** Position of the newest entry. Pass it as `after` to `watch` to get all later activity. */
  newest: text,
});
export interface ActivityPage extends Shape<typeof activityPage> {}

const step = z.enum(FIGURE_STEPS);
export type FigureStep = Shape<typeof step>;

const point = z.object({
  /** Start of the hour or day. */
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
  /** Number of tokens that were saved. Null if there were no prompts, negative if pasting would have cost less. */
  avoided_tokens: count.nullable().describe('null if there were no prompts'),
  /** Last value that was measured in the hour or day. Null if none was measured. */
  storage_bytes: count.nullable().describe('null if it was not measured'),
});
/** Activity figures of one hour or day, in UTC. */
export interface FiguresPoint extends Shape<typeof point> {}

const figuresReport = z.object({
  step,
  /** One sentence that explains how `avoided_tokens` is calculated. */
  method: text,
  /** The figures, oldest first. There is one point for every hour or day. */
  points: z.array(point),
});
export interface FiguresReport extends Shape<typeof figuresReport> {}

const spendingRow = z.object({
  /** Day in UTC. */
  day: text,
  thread: text,
  /** Name of the caller who recorded the answer. */
  agent: text,
  model: text,
  /** Name of the repository's folder in which the model was called. Empty if unknown. */
  project: text,
  prompts: count,
  /** Number of tokens that the provider reported, including cached ones. 0 if it reported none. */
  input_tokens: count,
  cached_input_tokens: count,
  output_tokens: count,
  /** Number of tokens that the prompts would have had with everything pasted. */
  pasted_tokens: count,
  shown_tokens: count,
});
export interface SpendingRow extends Shape<typeof spendingRow> {}

const price = z.object({ input: z.number(), output: z.number(), cached_input: z.number().optional() });

const spendingReport = z.object({
  rows: z.array(spendingRow),
  prices: z
    .object({ date: optionalText, currency: optionalText, models: z.record(text, price) })
    .describe('prices of the configuration per million tokens, with the date when they were looked up'),
});
export interface SpendingReport extends Shape<typeof spendingReport> {}

export const activitySchemas = {
  list: {
    input: z.object({
      after: optionalText.describe('`next` of the previous page'),
      limit: limit(200),
      kind: kind.optional(),
    }),
    output: activityPage,
  },
  watch: {
    input: z.object({
      after: optionalText.describe('an `id`; by default only new activity is returned'),
      last_event_id: optionalText,
    }),
    output: entry,
    content: ['text/event-stream'],
  },
  figures: { input: z.object({ hours: limit(744), step: step.optional() }), output: figuresReport },
  spending: { input: z.object({ days: limit(31) }), output: spendingReport },
} satisfies SchemaRows;
