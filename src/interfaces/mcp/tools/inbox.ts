import * as z from 'zod';
import { inbox } from '../../../contract/channels.ts';
import { cutToBudget } from '../budget.ts';
import { defineTool } from '../tool.ts';
import { shown } from './channels.ts';

const MOST = 100;

export const inboxRead = defineTool({
  name: 'inbox_read',
  description: 'Unread messages for an agent, one JSON a line, from the channels it follows.',
  input: z.object({ agent: z.string(), limit: z.number().min(1).max(MOST).default(20) }),
  verb: inbox.read,
  doing: 'reading the inbox',
  async run({ agent, limit }, { relay, context }) {
    const { messages, more, cursors } = await relay.inbox.read(agent, { limit: Math.floor(limit) });
    if (messages.length === 0) return { text: '(nothing new)' };
    const lines = messages.map(shown).join('\n');
    const text = await cutToBudget(lines, context);
    // What was not shown must not be marked as read.
    if (text !== lines)
      return { text: `${text}\nRead fewer at once: limit ${Math.ceil(messages.length / 4)}.` };
    const rest = more ? ' There is more behind them.' : '';
    return { text: `${lines}\nOnce seen: inbox_mark_read with cursors ${JSON.stringify(cursors)}.${rest}` };
  },
});

export const inboxMarkRead = defineTool({
  name: 'inbox_mark_read',
  description: 'Mark messages as read.',
  input: z.object({
    agent: z.string(),
    cursors: z.record(z.string(), z.number()).describe('from inbox_read'),
  }),
  verb: inbox.markRead,
  doing: 'marking messages as read',
  async run({ agent, cursors }, { relay }) {
    await relay.inbox.markRead(agent, cursors);
    return { text: 'Marked as read.' };
  },
});
