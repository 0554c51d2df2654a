import { z } from 'zod';
import { CHANNEL_NAME_CHARS } from '../base/limits.ts';

/** Shapes that several operations share. */

export const pointerId = z.uuid();

export const jsonObject = z.record(z.string(), z.json());

/** Counted in characters as people see them, not in UTF-16 units. */
export const channelName = z
  .string()
  .min(1)
  .refine((name) => [...name].length <= CHANNEL_NAME_CHARS, `at most ${CHANNEL_NAME_CHARS} characters`);

export const tokenCount = z.object({
  tokens: z.number().int(),
  tokenizer: z.string(),
  estimated: z.boolean(),
});
