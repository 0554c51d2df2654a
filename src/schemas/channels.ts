import { z } from 'zod';
import { GROUP_ATTEMPTS, GROUP_RETRY_MAX_MS, PAGE_ITEMS_MAX, PREFETCH_MAX } from '../base/limits.ts';
import { channels } from '../contract/channels.ts';
import { schemasFor } from './schema.ts';
import { count, json, jsonObject, limit, optionalText, text, time } from './shapes.ts';

/** The domain says what is wrong with a name, in one way for every interface. */
export const name = z
  .string()
  .min(1)
  .describe('up to 256 characters, percent-encoded as one segment of the path');
const groupName = z.string().min(1);
export const seq = count;

export const since = z
  .union([text, z.number()])
  .describe('`all`, a sequence number, a time in ISO 8601 or in ms; only what is new by default')
  .optional();

const deadLetter = z.object({
  channel: text,
  group: text,
  seq,
  ts: z.number(),
  attempts: count,
  reason: z.enum(['attempts', 'age', 'gone']),
});

export const message = z.object({
  url: z.url().optional().describe('a pushed pointer'),
  msg: json.optional().describe('a signal'),
  ts: z.number().describe('ms'),
  seq,
  from: text,
  metadata: jsonObject.optional(),
  sealed_key: optionalText,
  token: seq.optional().describe('in a group: proves that the work is yours'),
  attempt: count.optional(),
  lease_until: z.number().optional().describe('ms'),
  dead: deadLetter.optional(),
  gap: z.literal(true).optional().describe('messages before this one are no longer kept'),
});

const channelInfo = { name: text, messages: count, last_seq: seq, last_at: time.nullable() };

const groupDetail = z.object({
  name: text,
  backlog: count,
  members: z.array(z.object({ name: text, since: time })),
  leases: z.array(z.object({ seq, token: seq, attempt: count, member: text, lease_until: time })),
});

const letter = z.object({ name, seq: z.coerce.number().int().positive() });

const waits = z
  .array(z.number().int().min(0).max(GROUP_RETRY_MAX_MS))
  .max(GROUP_ATTEMPTS)
  .describe('the waits before failed work comes back, in ms; the last one repeats');

const claim = z.object({ name, group: groupName, seq, token: seq });

const subscription = {
  since,
  group: groupName.optional().describe('share the messages with the other members of this group'),
  prefetch: limit(PREFETCH_MAX).describe('messages to hold at once in a group; one by default'),
};

export const channelSchemas = schemasFor(channels)({
  list: {
    input: z.object({ after: optionalText, limit: limit(PAGE_ITEMS_MAX) }),
    output: z.object({
      channels: z.array(z.object({ ...channelInfo, groups: z.array(text) })),
      next: optionalText,
    }),
  },
  inspect: {
    input: z.object({ name }),
    output: z.object({ ...channelInfo, first_seq: seq, dead: count, groups: z.array(groupDetail) }),
  },
  position: { input: z.object({ name }), output: z.object({ seq }) },
  publish: {
    input: z.object({ name, msg: json, idempotency_key: optionalText }),
    output: z.object({ channel: text, seq, ts: z.number() }),
  },
  events: {
    input: z.object({ name, ...subscription, last_event_id: optionalText }),
    output: message,
    content: ['text/event-stream'],
  },
  subscribe: {
    input: z.object({ name, ...subscription, ticket: optionalText }),
    output: message,
    also: { 101: 'A WebSocket, each frame of which is a message.' },
    codes: ['upgrade_required'],
  },
  ticket: { input: z.object({}), output: z.object({ ticket: text, expires_at: time }) },
  ack: { input: claim, output: z.object({ seq }), codes: ['conflict'] },
  nack: {
    input: claim,
    output: z.object({
      seq,
      dead: z.boolean().describe('it went among the dead letters'),
      retry_at: z.number().optional().describe('when it is handed out again, in ms'),
    }),
    codes: ['conflict'],
  },
  extend: {
    input: claim,
    output: z.object({ seq, lease_until: z.number().describe('ms') }),
    codes: ['conflict'],
  },
  deadLetters: {
    input: z.object({ name }),
    output: z.object({ letters: z.array(message.extend({ dead: deadLetter })) }),
  },
  retryDead: {
    input: letter,
    output: z.object({ channel: text, group: text, seq, task: z.uuid().optional() }),
    codes: ['conflict', 'over_quota'],
  },
  dropDead: { input: letter, output: z.null() },
  setGroup: {
    input: z.object({ name, group: groupName, retry: waits.nullable().optional() }),
    output: z.object({ retry: waits.nullable() }),
  },
  removeGroup: { input: z.object({ name, group: groupName }), output: z.null(), codes: ['conflict'] },
});
