import { z } from 'zod';
import { RUNGS, receipts } from '../contract/receipts.ts';
import { schemasFor } from './schema.ts';
import { count, optionalText, text, time } from './shapes.ts';

const rung = z.enum(RUNGS);

export const receipt = z.object({
  rung,
  by: text,
  at: time,
  last_at: time.optional(),
  count: count.optional(),
  retries: count.optional(),
  bytes: count.optional(),
  group: optionalText,
  reason: z.enum(['attempts', 'age', 'gone']).optional(),
  attempts: count.optional(),
  url: z.url().optional(),
  status: optionalText,
  summary: optionalText,
});

export const receiptSchemas = schemasFor(receipts)({
  get: {
    input: z.object({ id: text }),
    output: z.object({ id: z.uuid(), reached: rung, receipts: z.array(receipt) }),
  },
});
