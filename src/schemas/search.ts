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
  indexing: z.boolean().describe('the rest is being indexed; else no more than this is searched'),
  artifacts: z.array(
    z.object({
      ref,
      thread_id: threadId,
      size: count,
      searched: count.describe('bytes, from the beginning'),
    }),
  ),
});
