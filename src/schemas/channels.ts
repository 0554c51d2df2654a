import { z } from 'zod';
import {
  DEAD_WHY_CHARS,
  DELAY_MS,
  GROUP_ATTEMPTS,
  GROUP_RETRY_MAX_MS,
  INBOX_MESSAGES,
  PAGE_ITEMS_MAX,
  PREFETCH_MAX,
} from '../base/limits.ts';
import {
  count,
  flag,
  idempotencyKey,
  json,
  jsonObject,
  limit,
  next,
  optionalText,
  type SchemaRows,
  type Shape,
  statedAgent,
  text,
  time,
} from './shapes.ts';

/** Name of a channel. The domain validates names, so that all interfaces report the same error. */
const name = z.string().min(1).describe('up to 256 characters, percent-encoded as one path segment');
const groupName = z.string().min(1);
const seq = count;

const sincePoint = z.union([text, z.number()]);
/**
 * Start position: `all`, a sequence number, or a time in ISO 8601 or in ms since the epoch. Numbers from 10¹² on are
 * times.
 */
export type Since = Shape<typeof sincePoint>;

const since = sincePoint
  .describe('`all`, a sequence number, or a time in ISO 8601 or in ms; only new messages by default')
  .optional();

export const deadReason = z.enum(['attempts', 'age', 'gone']);

const deadLetter = z.object({
  channel: text,
  group: text,
  seq,
  ts: z.number(),
  attempts: count,
  /**
   * Why the message is dead. `attempts`: too many attempts failed. `age`: it expired before a member took it. `gone`:
   * its pointer expired or was revoked.
   */
  reason: deadReason,
  /** Report of the last member that gave the message back, such as an exit code and the last lines. */
  why: optionalText.describe('what the last attempt reported'),
});
export interface DeadLetter extends Shape<typeof deadLetter> {}

const replyTo = {
  reply_to: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('sequence number of the message that this one answers'),
};

const message = z.object({
  url: z.url().optional().describe('a pushed pointer'),
  msg: json.optional().describe('a signal'),
  /** Time of publication, in ms since the epoch. */
  ts: z.number().describe('ms since 1970'),
  /**
   * Sequence number. It increases within the channel, possibly with gaps. Pass it as `since` to continue after this
   * message.
   */
  seq,
  /** Name of the sender, set by the relay. */
  from: text,
  ...statedAgent,
  metadata: jsonObject.optional(),
  ...replyTo,
  channel: optionalText.describe('the channel, in a subscription with wildcards'),
  /** The payload key, encrypted with the key of the channel (a Fernet token). */
  sealed_key: optionalText,
  /** In a group: token that proves that this member has the lease. */
  token: seq.optional().describe('in a group: proves that you hold the lease'),
  /** In a group: number of deliveries of this message, including this one. */
  attempt: count.optional(),
  /** In a group: end of the lease, in ms since the epoch. */
  lease_until: z.number().optional().describe('ms since 1970'),
  /** On a dead-letter channel: the original message, and why it failed. */
  dead: deadLetter.optional(),
  /** Set if requested messages before this one have expired. */
  gap: z.literal(true).optional().describe('messages before this one have expired'),
});
/** A message of a channel: a pointer (`url`) or a signal (`msg`). */
export interface Message extends Shape<typeof message> {}

/** A dead letter. Its `seq` is its position among the dead letters of its channel. */
export type BuriedMessage = Message & { readonly dead: DeadLetter };

const published = z.object({
  channel: text,
  /** Sequence number. 0 for a delayed message, which gets its number when it is sent. */
  seq: seq.describe('0 for a delayed message'),
  /** Time of the message in ms since the epoch. For a delayed message, the time at which it is due. */
  ts: z.number(),
});
export interface Published extends Shape<typeof published> {}

const about = {
  name: text,
  messages: count,
  /** Sequence number of the newest message. 0 if there is none yet. */
  last_seq: seq,
  last_at: time.nullable(),
};

const channelInfo = z.object({ ...about, groups: z.array(text) });
export interface ChannelInfo extends Shape<typeof channelInfo> {}

const channelPage = z.object({ channels: z.array(channelInfo), ...next });
export interface ChannelPage extends Shape<typeof channelPage> {}

const lease = z.object({
  seq,
  token: seq,
  attempt: count,
  member: text,
  ...statedAgent,
  lease_until: time,
});
export interface Lease extends Shape<typeof lease> {}

const waiting = z.object({
  seq,
  attempt: count.describe('attempts so far'),
  retry_at: time
    .nullable()
    .describe('no member gets the message before this time; null if a member may take it now'),
  why: optionalText.describe('what the last member reported when it gave the message back'),
});

const groupDetail = z.object({
  name: text,
  /** Number of messages that wait for a member. */
  backlog: count,
  members: z.array(z.object({ name: text, ...statedAgent, since: time })),
  leases: z.array(lease),
  /** The oldest messages that wait for a member, at most 100. `backlog` counts all of them. */
  waiting: z.array(waiting).describe('the oldest waiting messages, at most 100'),
});
export interface GroupDetail extends Shape<typeof groupDetail> {}

const channelDetail = z.object({
  ...about,
  first_seq: seq,
  /** Number of dead letters that nobody has retried or dropped. */
  dead: count,
  groups: z.array(groupDetail),
});
export interface ChannelDetail extends Shape<typeof channelDetail> {}

const letter = z.object({ name, seq: z.coerce.number().int().positive() });

const revived = z.object({
  channel: text,
  group: text,
  /** Sequence number of the message that is delivered again. */
  seq,
  /** For a task: id of the new task. The old task already has a failed result, so a new task is sent. */
  task: z.uuid().optional(),
});
export interface RevivedLetter extends Shape<typeof revived> {}

const waits = z
  .array(z.number().int().min(0).max(GROUP_RETRY_MAX_MS))
  .max(GROUP_ATTEMPTS)
  .describe('delays before a failed message is delivered again, in ms; the last one repeats');

const groupOptions = z.object({
  /**
   * Delays before a failed message is delivered again, in ms; the last one repeats. Null: the defaults of the relay.
   * Absent: no change.
   */
  retry: waits.nullable().optional(),
});
export interface GroupOptions extends Shape<typeof groupOptions> {}

const proof = z.object({ seq, token: seq });
/** Identifies a message, with the token that proves that the caller has its lease. */
export interface Claim extends Shape<typeof proof> {}

const why = z.string().max(DEAD_WHY_CHARS).optional().describe('why the work failed, for the dead letter');

const claim = z.object({ name, group: groupName, ...proof.shape });

const nacked = z.object({
  seq,
  /** True if the message became a dead letter after too many attempts. */
  dead: z.boolean().describe('true if the message became a dead letter'),
  /** Time of the next delivery, in ms since the epoch. */
  retry_at: z.number().optional().describe('time of the next delivery, in ms since 1970'),
});
/** What happens to a message that was given back. */
export interface Nacked extends Shape<typeof nacked> {}

const subscription = {
  since,
  group: groupName.optional().describe('share the messages with the other members of this group'),
  prefetch: limit(PREFETCH_MAX).describe('messages to hold at once in a group; 1 by default'),
};

export const channelSchemas = {
  list: { input: z.object({ after: optionalText, limit: limit(PAGE_ITEMS_MAX) }), output: channelPage },
  inspect: { input: z.object({ name }), output: channelDetail },
  position: { input: z.object({ name }), output: z.object({ seq }) },
  publish: {
    input: z.object({
      name,
      msg: json,
      idempotency_key: idempotencyKey,
      ...replyTo,
      after: z
        .number()
        .positive()
        .max(DELAY_MS / 1000)
        .optional()
        .describe('delay in seconds'),
    }),
    output: published,
  },
  events: {
    input: z.object({ name, ...subscription, last_event_id: optionalText }),
    output: message,
    content: ['text/event-stream'],
  },
  subscribe: {
    input: z.object({
      name,
      ...subscription,
      ticket: optionalText.describe('ticket of a browser, which cannot send the API key in a header'),
      agent: optionalText.describe('name of the agent; other requests send it as Relay-Agent'),
    }),
    output: message,
    also: { 101: 'A WebSocket. Each frame is one message.' },
    codes: ['upgrade_required'],
  },
  ticket: { input: z.object({}), output: z.object({ ticket: text, expires_at: time }) },
  ack: { input: claim, output: z.object({ seq }), codes: ['conflict'] },
  nack: { input: claim.extend({ why }), output: nacked, codes: ['conflict'] },
  extend: {
    input: claim,
    output: z.object({ seq, lease_until: z.number().describe('ms since 1970') }),
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
  remove: { input: z.object({ name }), output: z.null(), codes: ['conflict'] },
  removeGroup: { input: z.object({ name, group: groupName }), output: z.null(), codes: ['conflict'] },
} satisfies SchemaRows;

const agent = z.string().min(1);
const cursors = z.record(text, seq);

const inboxMessage = message.extend({ channel: text });
export interface InboxMessage extends Shape<typeof inboxMessage> {}

const inbox = z.object({
  agent: text,
  following: z.array(text),
  /** The messages, ordered by time. `gap` is set on a message if messages before it have expired. */
  messages: z.array(inboxMessage),
  /** True if there are more unread messages than this answer contains. */
  more: z.boolean(),
  /** Sequence number of the last message above, by channel. Pass it to `markRead` after reading the messages. */
  cursors,
});
export interface Inbox extends Shape<typeof inbox> {}

const followed = z.object({
  agent: text,
  channel: text,
  /** Sequence number up to which the agent has read. */
  cursor: seq,
});
export interface Followed extends Shape<typeof followed> {}

export const inboxSchemas = {
  read: {
    input: z.object({
      agent,
      limit: limit(INBOX_MESSAGES),
      newest: flag.optional().describe('1: the newest unread messages; 0 (default): the oldest'),
    }),
    output: inbox,
  },
  markRead: { input: z.object({ agent, cursors }), output: z.null() },
  follow: { input: z.object({ agent, channel: name, since }), output: followed },
  unfollow: { input: z.object({ agent, channel: name }), output: z.null() },
} satisfies SchemaRows;
