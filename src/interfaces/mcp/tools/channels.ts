import * as z from 'zod';
import { channels, type Message } from '../../../contract/channels.ts';
import { cutToBudget } from '../budget.ts';
import { recentMessages } from '../recent-messages.ts';
import { defineTool } from '../tool.ts';
import { channelUri } from '../uris.ts';

const MOST = 100;

export const channelPublish = defineTool({
  name: 'channel_publish',
  description:
    'Send a short message to all who follow a channel. For large texts use push_context with channel.',
  input: z.object({ channel: z.string(), message: z.string() }),
  verb: channels.publish,
  doing: 'publishing',
  async run({ channel, message }, { client, signal }) {
    const { seq } = await client.publish(channel, message, { signal });
    return {
      text: `Published on ${channel} as ${seq}.`,
      links: [{ uri: channelUri(channel), name: channel }],
    };
  },
});

export const channelRead = defineTool({
  name: 'channel_read',
  description: 'The newest messages of a channel, one JSON a line. Go on with since = the last seq.',
  input: z.object({
    channel: z.string(),
    since: z.number().optional().describe('only those behind this seq'),
    limit: z.number().min(1).max(MOST).default(20),
  }),
  verb: channels.subscribe,
  doing: 'reading the channel',
  async run({ channel, since, limit }, { client, desk, signal }) {
    const messages = await recentMessages(client, channel, { since, limit: Math.floor(limit), signal });
    if (messages.length === 0) return { text: since === undefined ? '(no messages)' : '(no new messages)' };
    return { text: await cutToBudget(messages.map(shown).join('\n'), desk) };
  },
});

export function shown({ seq, ts, from, url, msg, metadata }: Message): string {
  return JSON.stringify({ seq, at: new Date(ts).toISOString(), from, url, msg, metadata });
}
