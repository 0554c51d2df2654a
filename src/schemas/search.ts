import { z } from 'zod';
import { count, ref, text, threadId } from './shapes.ts';

export const searchHit = z.object({
  ref,
  thread_id: threadId,
  name: text,
  type: text,
  score: z.number(),
  snippet: z.string().describe('a passage, with ** around what matched'),
  line: count.describe('on which it begins'),
});

export const unsearched = z.object({
  indexing: z
    .boolean()
    .describe('true while the rest is being indexed; false where the rest is never searched'),
  artifacts: z.array(
    z.object({
      ref,
      thread_id: threadId,
      size: count,
      searched: count.describe('bytes, from the beginning'),
    }),
  ),
});
