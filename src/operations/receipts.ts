import { z } from 'zod';
import { defineOperation } from './operation.ts';

const rung = z.enum(['stored', 'notified', 'pulled', 'acked', 'result']);

const receipt = z.object({
  rung,
  by: z.string(),
  at: z.iso.datetime(),
  last_at: z.iso.datetime().optional(),
  count: z.number().int().optional(),
  bytes: z.number().int().optional(),
  group: z.string().optional(),
  url: z.url().optional(),
  status: z.string().optional(),
  summary: z.string().optional(),
});

export const receiptOperations = [
  defineOperation({
    name: 'receipts.get',
    summary: 'Who was told of a pointer, pulled it, did it: as far as there is evidence',
    scope: 'pull',
    input: z.object({ id: z.string() }),
    output: z.object({ id: z.uuid(), reached: rung, receipts: z.array(receipt) }),
    http: { method: 'GET', path: '/pull/:id/receipts' },
    run: async (relay, { id }) => {
      const ladder = await relay.receipts.get(id);
      return { ...ladder, receipts: [...ladder.receipts] };
    },
  }),
];
