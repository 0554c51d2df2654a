import { z } from 'zod';
import { INBOX_MESSAGES } from '../base/limits.ts';
import { inbox } from '../contract/inbox.ts';
import { message, name, seq, since } from './channels.ts';
import { schemasFor } from './schema.ts';
import { flag, limit, text } from './shapes.ts';

const agent = z.string().min(1);
const cursors = z.record(text, seq);

export const inboxSchemas = schemasFor(inbox)({
  read: {
    input: z.object({
      agent,
      limit: limit(INBOX_MESSAGES),
      newest: flag
        .optional()
        .describe('1: the newest ones, where there are more than that; 0 by default, the oldest'),
    }),
    output: z.object({
      agent: text,
      following: z.array(text),
      messages: z.array(message.extend({ channel: text })),
      more: z.boolean(),
      cursors,
    }),
  },
  markRead: { input: z.object({ agent, cursors }), output: z.null() },
  follow: {
    input: z.object({ agent, channel: name, since }),
    output: z.object({ agent: text, channel: text, cursor: seq }),
  },
  unfollow: { input: z.object({ agent, channel: name }), output: z.null() },
});
