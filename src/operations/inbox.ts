import { z } from 'zod';
import { message, name, seq, since } from './channels.ts';
import { defineOperation } from './operation.ts';

const agentName = z.string().min(1);
const inboxMessage = message.extend({ channel: z.string() });

export const inboxOperations = [
  defineOperation({
    name: 'inbox.read',
    summary: 'What a named agent has not read yet in the channels it follows',
    scope: 'subscribe',
    input: z.object({ agent: agentName, limit: z.coerce.number().int().optional() }),
    output: z.object({
      agent: z.string(),
      following: z.array(z.string()),
      messages: z.array(inboxMessage),
      more: z.boolean(),
      cursors: z.record(z.string(), seq),
    }),
    http: { method: 'GET', path: '/inbox/:agent' },
    run: async (relay, { agent, limit }) => {
      const inbox = await relay.inbox.read(agent, { limit });
      return { ...inbox, following: [...inbox.following], messages: [...inbox.messages] };
    },
  }),
  defineOperation({
    name: 'inbox.mark_read',
    summary: 'Mark messages as read: channel → sequence',
    scope: 'subscribe',
    input: z.object({ agent: agentName, cursors: z.record(z.string(), seq) }),
    output: z.null(),
    http: { method: 'POST', path: '/inbox/:agent/read', status: 204 },
    run: async (relay, { agent, cursors }) => {
      await relay.inbox.markRead(agent, cursors);
      return null;
    },
  }),
  defineOperation({
    name: 'inbox.follow',
    summary: 'Have a channel’s messages kept for a named agent',
    scope: 'subscribe',
    input: z.object({ agent: agentName, channel: name, since }),
    output: z.object({ agent: z.string(), channel: z.string(), cursor: seq }),
    http: { method: 'POST', path: '/inbox/:agent/channels' },
    run: (relay, { agent, channel, since }) => relay.inbox.follow(agent, channel, { since }),
  }),
  defineOperation({
    name: 'inbox.unfollow',
    summary: 'Stop following a channel',
    scope: 'subscribe',
    input: z.object({ agent: agentName, channel: name }),
    output: z.null(),
    http: { method: 'DELETE', path: '/inbox/:agent/channels/:channel', status: 204 },
    run: async (relay, { agent, channel }) => {
      await relay.inbox.unfollow(agent, channel);
      return null;
    },
  }),
];
