import { z } from 'zod';
import { SHARE_NAME_CHARS, SHARE_TTL_MAX_S } from '../base/limits.ts';
import { shares } from '../contract/shares.ts';
import { schemasFor } from './schema.ts';
import { nullableText, text, threadId, time } from './shapes.ts';

const shareInfo = z.object({
  id: text,
  thread_id: threadId,
  name: text,
  created_by: text,
  key_id: nullableText.describe(
    'the id of the key that made the link, or of its successor: the link ends with it; null for links made before 0.3',
  ),
  created_at: time,
  expires_at: time,
  last_used_at: time.nullable(),
});

export const shareSchemas = schemasFor(shares)({
  create: {
    input: z.object({
      thread_id: threadId,
      name: z.string().max(SHARE_NAME_CHARS).optional(),
      expires_in: z
        .number()
        .min(1)
        .max(SHARE_TTL_MAX_S)
        .optional()
        .describe('seconds until it leads nowhere; a week by default'),
    }),
    output: shareInfo.extend({
      token: z.string().describe('shown this once; the relay keeps only its hash'),
      path: z.string().describe('the page, with the token in the fragment'),
    }),
    codes: ['not_found'],
  },
  list: {
    input: z.object({ thread_id: z.uuid().optional() }),
    output: z.object({ shares: z.array(shareInfo) }),
  },
  revoke: { input: z.object({ id: z.string().min(1).max(64) }), output: z.null() },
});
