import { z } from 'zod';
import { RUNGS, receipts } from '../contract/receipts.ts';
import { schemasFor } from './schema.ts';
import { count, time } from './shapes.ts';

const rung = z.enum(RUNGS);

export const receipt = z.object({
  rung,
  by: z.string(),
  at: time,
  last_at: time.optional(),
  count: count.optional(),
  bytes: count.optional(),
  group: z.string().optional(),
  url: z.url().optional(),
  status: z.string().optional(),
  summary: z.string().optional(),
});

export const receiptSchemas = schemasFor(receipts)({
  get: {
    input: z.object({ id: z.string() }),
    output: z.object({ id: z.uuid(), reached: rung, receipts: z.array(receipt) }),
  },
});
