import { z } from 'zod';
import { defineOperation } from './operation.ts';

const meter = z.object({ used: z.number().int(), limit: z.number().int().nullable() });

export const usageOperations = [
  defineOperation({
    name: 'usage.get',
    summary: 'What was used in a month, by key, operation and day; CSV with format=csv',
    scope: 'push',
    input: z.object({
      month: z.string().max(7).optional().describe('`2026-11`, in UTC; the current one unless told'),
      tenant: z.string().max(63).optional().describe('another tenant; only for admins of the relay itself'),
      format: z.enum(['json', 'csv']).optional(),
    }),
    output: z.object({
      tenant: z.string(),
      plan: z.string(),
      month: z.string(),
      reset: z.iso.datetime(),
      pushes: meter,
      pulls: meter.describe('told, never enforced'),
      rows: z
        .array(
          z.object({
            day: z.string(),
            key: z.string(),
            operation: z.string(),
            count: z.number().int(),
            bytes: z.number().int(),
          }),
        )
        .readonly(),
    }),
    http: { method: 'GET', path: '/usage', custom: true },
    run: (relay, { month, tenant }) => relay.usage.get({ month, tenant }),
  }),
];
