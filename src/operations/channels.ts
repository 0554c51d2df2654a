import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { jsonObject } from './shapes.ts';

/** The domain says what is wrong with a name, in one way for every interface. */
export const name = z
  .string()
  .min(1)
  .describe('up to 256 characters, percent-encoded as one segment of the path');
const groupName = z.string().min(1);
export const seq = z.number().int();

export const since = z
  .string()
  .optional()
  .describe('`all`, a sequence number, a time in ISO 8601 or in ms; only what is new unless told');

export const message = z.object({
  url: z.url().optional().describe('a pushed pointer'),
  msg: z.json().optional().describe('a signal'),
  ts: z.number().describe('ms'),
  seq,
  from: z.string(),
  metadata: jsonObject.optional(),
  sealed_key: z.string().optional(),
  token: seq.optional().describe('in a group: proves that the work is yours'),
  attempt: z.number().int().optional(),
  lease_until: z.number().optional().describe('ms'),
  dead: z
    .object({
      channel: z.string(),
      group: z.string(),
      seq,
      ts: z.number(),
      attempts: z.number().int(),
      reason: z.enum(['attempts', 'age', 'gone']),
    })
    .optional(),
  gap: z.literal(true).optional().describe('messages before this one are no longer kept'),
});

const channelInfo = {
  name: z.string(),
  messages: z.number().int(),
  last_seq: seq,
  last_at: z.iso.datetime().nullable(),
};

const groupDetail = z.object({
  name: z.string(),
  backlog: z.number().int(),
  members: z.array(z.object({ name: z.string(), since: z.iso.datetime() })),
  leases: z.array(
    z.object({
      seq,
      token: seq,
      attempt: z.number().int(),
      member: z.string(),
      lease_until: z.iso.datetime(),
    }),
  ),
});

const claim = z.object({ name, group: groupName, seq, token: seq });

const subscription = {
  since,
  group: groupName.optional().describe('share the messages with the other members of this group'),
  prefetch: z.coerce
    .number()
    .int()
    .optional()
    .describe('messages to hold at once in a group; one unless told'),
};

/** A connection stays open here, so the interface handles it itself; `run` is never reached. */
const staysOpen = () => Promise.reject(new Error('handled by the interface'));

export const channelOperations = [
  defineOperation({
    name: 'channels.list',
    summary: 'The channels there are',
    scope: 'subscribe',
    input: z.object({ after: z.string().optional(), limit: z.coerce.number().int().optional() }),
    output: z.object({
      channels: z.array(z.object({ ...channelInfo, groups: z.array(z.string()) })),
      next: z.string().optional(),
    }),
    http: { method: 'GET', path: '/channels' },
    run: async (relay, { after, limit }) => {
      const { channels, next } = await relay.channels.list({ after, limit });
      const list = channels.map((each) => ({ ...each, groups: [...each.groups] }));
      return { channels: list, ...(next === undefined ? {} : { next }) };
    },
  }),
  defineOperation({
    name: 'channels.inspect',
    summary: 'A channel and its groups: backlog, members, leases',
    scope: 'subscribe',
    input: z.object({ name }),
    output: z.object({ ...channelInfo, first_seq: seq, groups: z.array(groupDetail) }),
    http: { method: 'GET', path: '/channels/:name' },
    run: async (relay, { name }) => {
      const { groups, ...detail } = await relay.channels.inspect(name);
      const copied = groups.map((each) => ({
        ...each,
        members: [...each.members],
        leases: [...each.leases],
      }));
      return { ...detail, groups: copied };
    },
  }),
  defineOperation({
    name: 'channels.position',
    summary: 'The newest sequence of a channel: `since` takes it to get all that follows',
    scope: 'subscribe',
    input: z.object({ name }),
    output: z.object({ seq }),
    http: { method: 'GET', path: '/channels/:name/position' },
    run: async (relay, { name }) => ({ seq: await relay.channels.position(name) }),
  }),
  defineOperation({
    name: 'channels.publish',
    summary: 'Send a signal to all subscribers of a channel',
    scope: 'push',
    input: z.object({ name, msg: z.json(), idempotency_key: z.string().optional() }),
    output: z.object({ channel: z.string(), seq, ts: z.number() }),
    http: { method: 'POST', path: '/channels/:name', headers: { idempotency_key: 'Idempotency-Key' } },
    run: (relay, { name, msg, idempotency_key }) => relay.channels.publish(name, msg, { idempotency_key }),
  }),
  defineOperation({
    name: 'channels.events',
    summary: 'The messages of a channel as server-sent events',
    scope: 'subscribe',
    input: z.object({ name, ...subscription, last_event_id: z.string().optional() }),
    output: message,
    http: {
      method: 'GET',
      path: '/channels/:name/events',
      headers: { last_event_id: 'Last-Event-ID' },
      custom: true,
    },
    run: staysOpen,
  }),
  defineOperation({
    name: 'channels.socket',
    summary: 'The messages of a channel over a WebSocket; the rest of the path is its name',
    scope: 'subscribe',
    input: z.object({ name, ...subscription, ticket: z.string().optional() }),
    output: message,
    http: { method: 'GET', path: '/ws/:name', custom: true },
    run: staysOpen,
  }),
  defineOperation({
    name: 'channels.ticket',
    summary: 'A ticket for one WebSocket within 30 seconds, for browsers: they cannot send headers with it',
    scope: 'subscribe',
    input: z.object({}),
    output: z.object({ ticket: z.string(), expires_at: z.iso.datetime() }),
    http: { method: 'POST', path: '/ws-ticket' },
    run: (relay) => relay.channels.ticket(),
  }),
  defineOperation({
    name: 'channels.ack',
    summary: 'The work is done',
    scope: 'subscribe',
    input: claim,
    output: z.object({ seq }),
    http: { method: 'POST', path: '/channels/:name/groups/:group/ack' },
    run: (relay, { name, group, seq, token }) => relay.channels.ack(name, group, { seq, token }),
  }),
  defineOperation({
    name: 'channels.nack',
    summary: 'Give the work back, for another member',
    scope: 'subscribe',
    input: claim,
    output: z.object({ seq, dead: z.boolean().describe('it went among the dead letters') }),
    http: { method: 'POST', path: '/channels/:name/groups/:group/nack' },
    run: (relay, { name, group, seq, token }) => relay.channels.nack(name, group, { seq, token }),
  }),
  defineOperation({
    name: 'channels.extend',
    summary: 'Still at work: the lease begins anew',
    scope: 'subscribe',
    input: claim,
    output: z.object({ seq, lease_until: z.number().describe('ms') }),
    http: { method: 'POST', path: '/channels/:name/groups/:group/extend' },
    run: (relay, { name, group, seq, token }) => relay.channels.extend(name, group, { seq, token }),
  }),
  defineOperation({
    name: 'channels.remove_group',
    summary: 'Forget a group and whatever it had not done',
    scope: 'subscribe',
    input: z.object({ name, group: groupName }),
    output: z.null(),
    http: { method: 'DELETE', path: '/channels/:name/groups/:group', status: 204 },
    run: async (relay, { name, group }) => {
      await relay.channels.removeGroup(name, group);
      return null;
    },
  }),
];
