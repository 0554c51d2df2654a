import * as z from 'zod';
import { channels, inbox, type Message } from '../../../contract/channels.ts';
import type { ContextRelay } from '../../../sdk/context-relay.ts';
import { cutToBudget } from '../budget.ts';
import { channelUri, defineTool } from '../tool.ts';

const MAX_MESSAGES = 100;

export const CHANNEL_TOOLS = [
  defineTool({
    name: 'channel_publish',
    description:
      'Send a short message to all subscribers of a channel. For large texts use push_context with channel.',
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
  }),
  defineTool({
    name: 'channel_read',
    description:
      'Read the newest messages of a channel, one JSON per line. To get only newer messages, pass since = the last seq.',
    input: z.object({
      channel: z.string(),
      since: z.number().optional().describe('only messages after this seq'),
      limit: z.number().min(1).max(MAX_MESSAGES).default(20),
    }),
    verb: channels.subscribe,
    doing: 'reading the channel',
    async run({ channel, since, limit }, { client, context, signal }) {
      const messages = await recentMessages(client, channel, { since, limit: Math.floor(limit), signal });
      if (messages.length === 0) return { text: since === undefined ? '(no messages)' : '(no new messages)' };
      const opened = await Promise.all(messages.map((message) => client.unseal(channel, message)));
      return { text: await cutToBudget(opened.map(messageLine).join('\n'), context) };
    },
  }),
  defineTool({
    name: 'inbox_read',
    description: 'Read the unread messages of an agent from its channels, one JSON per line.',
    input: z.object({ agent: z.string(), limit: z.number().min(1).max(MAX_MESSAGES).default(20) }),
    verb: inbox.read,
    doing: 'reading the inbox',
    async run({ agent, limit }, { relay, client, context }) {
      const found = await relay.inbox.read(agent, { limit: Math.floor(limit) });
      const { messages, more, cursors, following } = found;
      if (following.length === 0)
        return { text: `${agent} follows no channel, so its inbox stays empty. Call inbox_follow.` };
      if (messages.length === 0) return { text: '(no new messages)' };
      const opened = messages.map(async (message) => ({
        ...(await client.unseal(message.channel, message)),
        channel: message.channel,
      }));
      const lines = (await Promise.all(opened)).map(messageLine).join('\n');
      const text = await cutToBudget(lines, context);
      // If messages were cut from the answer, return no cursors. With the cursors, the client would also mark the
      // missing messages as read.
      if (text !== lines)
        return { text: `${text}\nRead fewer messages: limit ${Math.ceil(messages.length / 4)}.` };
      const rest = more ? ' There are more messages.' : '';
      return {
        text: `${lines}\nWhen done, call inbox_mark_read with cursors ${JSON.stringify(cursors)}.${rest}`,
      };
    },
  }),
  defineTool({
    name: 'inbox_follow',
    description: "Subscribe an agent's inbox to a channel.",
    input: z.object({ agent: z.string(), channel: z.string() }),
    verb: inbox.follow,
    doing: 'following the channel',
    async run({ agent, channel }, { relay }) {
      await relay.inbox.follow(agent, channel);
      return { text: `${agent} follows ${channel} from now on.` };
    },
  }),
  defineTool({
    name: 'inbox_mark_read',
    hints: { not_found: 'Call inbox_follow first.' },
    description: 'Mark inbox messages as read.',
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
  }),
];

/** Serializes a message as one line of JSON. */
export function messageLine(message: Message & { readonly channel?: string }): string {
  const { channel, seq, ts, from, agent, url, msg, metadata } = message;
  return JSON.stringify({ channel, seq, at: new Date(ts).toISOString(), from, agent, url, msg, metadata });
}

interface ReadOptions {
  /** Returns messages after this sequence number, oldest first. By default, returns the newest messages. */
  readonly since?: number;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/**
 * Maximum time in ms to wait for the next message. The last expected message may have expired and then never arrives.
 */
const QUIET_MS = 2_000;

/** Returns the stored messages of a channel without waiting for new ones. */
export async function recentMessages(
  client: ContextRelay,
  channel: string,
  o: ReadOptions,
): Promise<Message[]> {
  const last = await client.channels.position(channel);
  if (o.since !== undefined) return last <= o.since ? [] : readBetween(client, channel, o.since, last, o);
  // Sequence numbers have gaps, so read further back until there are enough messages.
  for (let back = o.limit; last > 0; back *= 16) {
    const since = Math.max(0, last - back);
    const found = await readBetween(client, channel, since, last, { ...o, limit: Number.POSITIVE_INFINITY });
    if (found.length >= o.limit || since === 0) return found.slice(-o.limit);
  }
  return [];
}

/**
 * Returns the messages after `since` up to `last`. Subscribes to the channel: stored messages cannot be read
 * in another way.
 */
async function readBetween(
  client: ContextRelay,
  channel: string,
  since: number,
  last: number,
  { limit, signal }: ReadOptions,
): Promise<Message[]> {
  const quiet = new AbortController();
  const waiting = () => setTimeout(() => quiet.abort(), QUIET_MS);
  let timer = waiting();
  const messages: Message[] = [];
  const until = AbortSignal.any([quiet.signal, signal]);
  try {
    for await (const message of client.channels.subscribe(channel, { since, signal: until })) {
      clearTimeout(timer);
      messages.push(message);
      if (message.seq >= last || messages.length >= limit) break;
      timer = waiting();
    }
  } finally {
    clearTimeout(timer);
    quiet.abort();
  }
  signal.throwIfAborted();
  return messages;
}
