import { z } from 'zod';
import { ACTIVITY_KINDS, activity, FIGURE_STEPS } from '../contract/activity.ts';
import { schemasFor } from './schema.ts';
import { count, limit, optionalText, text, time } from './shapes.ts';

const optionalCount = count.optional();

const entry = z.object({
  id: text,
  at: time,
  kind: z.enum(ACTIVITY_KINDS),
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
  name: optionalText,
  status: optionalText,
  size: optionalCount,
  count: optionalCount,
});

const point = z.object({
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
  avoided_tokens: count.nullable().describe('null where nothing was prompted'),
  storage_bytes: count.nullable().describe('null where nobody looked'),
});

export const activitySchemas = schemasFor(activity)({
  list: {
    input: z.object({
      after: optionalText.describe('the `next` of the page before'),
      limit: limit(200),
      kind: z.enum(ACTIVITY_KINDS).optional(),
    }),
    output: z.object({ activities: z.array(entry), next: optionalText, newest: text }),
  },
  watch: {
    input: z.object({
      after: optionalText.describe('an `id`; only what comes from now on by default'),
      last_event_id: optionalText,
    }),
    output: entry,
    content: ['text/event-stream'],
  },
  figures: {
    input: z.object({ hours: limit(744), step: z.enum(FIGURE_STEPS).optional() }),
    output: z.object({ step: z.enum(FIGURE_STEPS), method: text, points: z.array(point) }),
  },
});
