import { z } from 'zod';
import { usage } from '../contract/usage.ts';
import { schemasFor } from './schema.ts';
import { count, text, time } from './shapes.ts';

const meter = z.object({ used: count, limit: count.nullable() });

export const usageSchemas = schemasFor(usage)({
  get: {
    input: z.object({
      month: z.string().max(7).optional().describe('`2026-11`, in UTC; the current one by default'),
      tenant: z.string().max(63).optional().describe('another tenant; only for admins of the relay itself'),
      format: z.enum(['json', 'csv']).optional(),
    }),
    output: z.object({
      tenant: text,
      plan: text,
      month: text,
      reset: time,
      pushes: meter,
      pulls: meter.describe('told, never enforced'),
      storage: meter.describe('bytes of threads, files and channel messages, as of now'),
      rows: z.array(z.object({ day: text, key: text, operation: text, count, bytes: count })),
    }),
    content: ['text/csv'],
  },
});
