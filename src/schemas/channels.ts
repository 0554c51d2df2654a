import { z } from 'zod';
import {
  GROUP_ATTEMPTS,
  GROUP_RETRY_MAX_MS,
  INBOX_MESSAGES,
  PAGE_ITEMS_MAX,
  PREFETCH_MAX,
} from '../base/limits.ts';
import {
  count,
  flag,
  json,
  jsonObject,
  limit,
  next,
  optionalText,
  type SchemaRows,
  type Shape,
  text,
  time,
} from './shapes.ts';

/** The domain says what is wrong with a name, in one way for every interface. */
const name = z.string().min(1).describe('up to 256 characters, percent-encoded as one segment of the path');
const groupName = z.string().min(1);
const seq = count;

const sincePoint = z.union([text, z.number()]);
/** `all`, a sequence, a moment as ms (from 10¹² on) or ISO 8601. */
export type Since = Shape<typeof sincePoint>;

const since = sincePoint
  .describe('`all`, a sequence number, a time in ISO 8601 or in ms; only what is new by default')
  .optional();

export const deadReason = z.enum(['attempts', 'age', 'gone']);

const deadLetter = z.object({
  channel: text,
  group: text,
  seq,
  ts: z.number(),
  attempts: count,
  /** `attempts` used up, `age`: never claimed while it was kept, `gone`: its pointer had expired or been revoked. */
  reason: deadReason,
});
export interface DeadLetter extends Shape<typeof deadLetter> {}

const message = z.object({
  url: z.url().optional().describe('a pushed pointer'),
  msg: json.optional().describe('a signal'),
  /** When it was put on the channel, in ms. */
  ts: z.number().describe('ms'),
  /** Grows along the channel; need not be gapless. Resume from it with `since`. */
  seq,
  /** Set by the relay, not by the sender. */
  from: text,
  metadata: jsonObject.optional(),
  /** The payload key as a Fernet token under the channel's key. */
  sealed_key: optionalText,
  /** In a group: what proves that this member holds the work. */
  token: seq.optional().describe('in a group: proves that the work is yours'),
  /** In a group: how often it has been handed out, this time included. */
  attempt: count.optional(),
  /** In a group: until when it is this member's, in ms. */
  lease_until: z.number().optional().describe('ms'),
  /** On a channel of dead letters: where it comes from, and why. */
  dead: deadLetter.optional(),
  /** On the first message behind others that the reader asked for and that are no longer kept. */
  gap: z.literal(true).optional().describe('messages before this one are no longer kept'),
});
/** A message of a channel: a pointer (`url`) or a signal (`msg`). */
export interface Message extends Shape<typeof message> {}

/** A dead letter, by its place among the dead letters of its channel. */
export type BuriedMessage = Message & { readonly dead: DeadLetter };

const published = z.object({ channel: text, seq, ts: z.number() });
export interface Published extends Shape<typeof published> {}

const about = {
  name: text,
  messages: count,
  /** 0 where there has been none. */
  last_seq: seq,
  last_at: time.nullable(),
};

const channelInfo = z.object({ ...about, groups: z.array(text) });
export interface ChannelInfo extends Shape<typeof channelInfo> {}

const channelPage = z.object({ channels: z.array(channelInfo), ...next });
export interface ChannelPage extends Shape<typeof channelPage> {}

const lease = z.object({ seq, token: seq, attempt: count, member: text, lease_until: time });
export interface Lease extends Shape<typeof lease> {}

const groupDetail = z.object({
  name: text,
  /** Messages that no member has claimed yet, or that came back. */
  backlog: count,
  members: z.array(z.object({ name: text, since: time })),
  leases: z.array(lease),
});
export interface GroupDetail extends Shape<typeof groupDetail> {}

const channelDetail = z.object({
  ...about,
  first_seq: seq,
  /** Dead letters that nobody has retried or dropped. */
  dead: count,
  groups: z.array(groupDetail),
});
export interface ChannelDetail extends Shape<typeof channelDetail> {}

const letter = z.object({ name, seq: z.coerce.number().int().positive() });

const revived = z.object({
  channel: text,
  group: text,
  /** The message that is handed out again. */
  seq,
  /** A task has got its failed result by then, so it is sent anew: the id of the new one. */
  task: z.uuid().optional(),
});
export interface RevivedLetter extends Shape<typeof revived> {}

const waits = z
  .array(z.number().int().min(0).max(GROUP_RETRY_MAX_MS))
  .max(GROUP_ATTEMPTS)
  .describe('the waits before failed work comes back, in ms; the last one repeats');

const groupOptions = z.object({
  /** The waits before failed work comes back, in ms, the last one repeated; null for those of the relay. As they are by default. */
  retry: waits.nullable().optional(),
});
export interface GroupOptions extends Shape<typeof groupOptions> {}

const proof = z.object({ seq, token: seq });
/** Which piece of work, and the proof that it is the caller's. */
export interface Claim extends Shape<typeof proof> {}

const claim = z.object({ name, group: groupName, ...proof.shape });

const nacked = z.object({
  seq,
  /** It went among the dead letters: it has been handed out as often as it may. */
  dead: z.boolean().describe('it went among the dead letters'),
  /** When it is handed out again, in ms. */
  retry_at: z.number().optional().describe('when it is handed out again, in ms'),
});
/** What became of work that was given back. */
export interface Nacked extends Shape<typeof nacked> {}

const subscription = {
  since,
  group: groupName.optional().describe('share the messages with the other members of this group'),
  prefetch: limit(PREFETCH_MAX).describe('messages to hold at once in a group; one by default'),
};

export const channelSchemas = {
  list: { input: z.object({ after: optionalText, limit: limit(PAGE_ITEMS_MAX) }), output: channelPage },
  inspect: { input: z.object({ name }), output: channelDetail },
  position: { input: z.object({ name }), output: z.object({ seq }) },
  publish: { input: z.object({ name, msg: json, idempotency_key: optionalText }), output: published },
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
  nack: { input: claim, output: nacked, codes: ['conflict'] },
  extend: {
    input: claim,
    output: z.object({ seq, lease_until: z.number().describe('ms') }),
    codes: ['conflict'],
  },
  deadLetters: {
    input: z.object({ name }),
    output: z.object({ letters: z.array(message.extend({ dead: deadLetter })) }),
  },
  retryDead: { input: letter, output: revived, codes: ['conflict', 'over_quota'] },
  dropDead: { input: letter, output: z.null() },
  setGroup: {
    input: z.object({ name, group: groupName, ...groupOptions.shape }),
    output: z.object({ retry: waits.nullable() }),
  },
  removeGroup: { input: z.object({ name, group: groupName }), output: z.null(), codes: ['conflict'] },
} satisfies SchemaRows;

const agent = z.string().min(1);
const cursors = z.record(text, seq);

const inboxMessage = message.extend({ channel: text });
export interface InboxMessage extends Shape<typeof inboxMessage> {}

const inbox = z.object({
  agent: text,
  following: z.array(text),
  /** In the order of time; `gap` marks the first behind others that were no longer kept. */
  messages: z.array(inboxMessage),
  /** There is more than fits into one answer. */
  more: z.boolean(),
  /** What to mark as read once these messages have been seen: channel → sequence. */
  cursors,
});
export interface Inbox extends Shape<typeof inbox> {}

const followed = z.object({
  agent: text,
  channel: text,
  /** Everything up to here has been read. */
  cursor: seq,
});
export interface Followed extends Shape<typeof followed> {}

export const inboxSchemas = {
  read: {
    input: z.object({
      agent,
      limit: limit(INBOX_MESSAGES),
      newest: flag
        .optional()
        .describe('1: the newest ones, where there are more than that; 0 by default, the oldest'),
    }),
    output: inbox,
  },
  markRead: { input: z.object({ agent, cursors }), output: z.null() },
  follow: { input: z.object({ agent, channel: name, since }), output: followed },
  unfollow: { input: z.object({ agent, channel: name }), output: z.null() },
} satisfies SchemaRows;
