import { z } from 'zod';
import { INBOX_MESSAGES } from '../base/limits.ts';
import { inbox } from '../contract/inbox.ts';
import { message, name, seq, since } from './channels.ts';
import { schemasFor } from './schema.ts';
import { limit } from './shapes.ts';

const agent = z.string().min(1);
const cursors = z.record(z.string(), seq);

export const inboxSchemas = schemasFor(inbox)({
  read: {
    input: z.object({ agent, limit: limit(INBOX_MESSAGES) }),
    output: z.object({
      agent: z.string(),
      following: z.array(z.string()),
      messages: z.array(message.extend({ channel: z.string() })),
      more: z.boolean(),
      cursors,
    }),
  },
  markRead: { input: z.object({ agent, cursors }), output: z.null() },
  follow: {
    input: z.object({ agent, channel: name, since }),
    output: z.object({ agent: z.string(), channel: z.string(), cursor: seq }),
  },
  unfollow: { input: z.object({ agent, channel: name }), output: z.null() },
});
