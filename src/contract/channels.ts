import type { Json } from '../base/json.ts';
import type * as shapes from '../schemas/channels.ts';
import { type Api, verbs } from './verb.ts';

export type * from '../schemas/channels.ts';

export interface SubscribeOptions {
  /**
   * Position after which to start. By default only new messages come. An existing group continues at its own position
   * instead.
   */
  readonly since?: shapes.Since;
  /** Name of a group that shares the messages: each message goes to one member, which gets a lease on it. */
  readonly group?: string;
  /** Maximum number of messages of the group that this member leases at the same time. Default: 1. */
  readonly prefetch?: number;
  readonly signal?: AbortSignal;
}

const onChannel = ({ name }: { name: string }) => [name];
/**
 * Returns the channels that the caller must be allowed to use. A pattern needs no permission of its own, because it
 * matches only channels that the caller may read.
 */
const onChannels = ({ name }: { name: string }) => (isPattern(name) ? [] : [name]);

/**
 * Returns whether a channel name has wildcards, as in NATS: `*` stands for one part between dots, a final `>` for one
 * or more parts.
 */
export function isPattern(name: string): boolean {
  const parts = name.split('.');
  return parts.includes('*') || parts.at(-1) === '>';
}

/** Returns whether a pattern matches the name of a channel. */
export function matchesPattern(pattern: string, channel: string): boolean {
  const [patternParts, parts] = [pattern.split('.'), channel.split('.')];
  const open = patternParts.at(-1) === '>';
  if (open ? parts.length < patternParts.length : parts.length !== patternParts.length) return false;
  return patternParts.every(
    (part, i) => part === '*' || part === parts[i] || (open && i === patternParts.length - 1),
  );
}
const member = { args: ['name', 'group'], channels: onChannel } as const;

type Settle<T> = (name: string, group: string, claim: shapes.Claim) => Promise<T>;

const verb = verbs({ scope: 'subscribe', args: ['name'] });

export const channels = {
  list: verb<(o?: { after?: string; limit?: number }) => Promise<shapes.ChannelPage>>('channels.list')({
    summary: 'List channels',
    route: 'GET /channels',
    args: [],
  }),
  inspect: verb<(name: string) => Promise<shapes.ChannelDetail>>('channels.inspect')({
    summary: 'Get a channel and its groups: backlog, members, leases',
    route: 'GET /channels/:name',
    channels: onChannel,
  }),
  /** Returns the sequence number of the newest message, or 0. Pass it as `since` to get all later messages. */
  position: verb<(name: string) => Promise<number>>('channels.position')({
    summary: 'Get the newest sequence number of a channel; pass it as `since` to get all later messages',
    route: 'GET /channels/:name/position',
    channels: onChannel,
    answer: 'seq',
  }),
  publish: verb<
    (
      name: string,
      msg: Json,
      o?: { idempotency_key?: string; reply_to?: number; after?: number },
    ) => Promise<shapes.Published>
  >('channels.publish')({
    summary: 'Send a signal to all subscribers of a channel, at once or after a delay',
    scope: 'push',
    route: 'POST /channels/:name',
    args: ['name', 'msg'],
    channels: onChannel,
    headers: { idempotency_key: 'Idempotency-Key' },
  }),
  events: verb<null, 'input' | 'output'>('channels.events')({
    summary: 'Stream the messages of a channel as server-sent events',
    route: 'GET /channels/:name/events',
    channels: onChannels,
    headers: { last_event_id: 'Last-Event-ID' },
    byHand: 'both',
    only: 'http',
  }),
  /**
   * Yields the stored messages from `since` on, then new messages, each once and in order. Ends when the
   * signal aborts. A name with wildcards (`reviews.*`, `reviews.>`) follows all matching channels, and each
   * message has the field `channel`. If a channel has exactly this name, only that channel is followed.
   */
  subscribe: verb<(name: string, o?: SubscribeOptions) => AsyncIterable<shapes.Message>, 'input'>(
    'channels.socket',
  )({
    summary: 'Stream the messages of a channel over a WebSocket; the rest of the path is the channel name',
    route: 'GET /ws/:name',
    channels: onChannels,
    byHand: 'both',
    streams: true,
  }),
  /**
   * Creates a ticket that opens one WebSocket within 30 seconds, for browsers, which cannot send an API key header.
   */
  ticket: verb<() => Promise<{ ticket: string; expires_at: string }>>('channels.ticket')({
    summary:
      'Create a ticket that opens one WebSocket within 30 seconds, for browsers, which cannot send an API key header',
    route: 'POST /ws-ticket',
    args: [],
    repeatable: true,
  }),
  /**
   * Acknowledges a message after the work on it is done. Rejects with `conflict` if another member has the lease now.
   */
  ack: verb<Settle<{ seq: number }>>('channels.ack')({
    ...member,
    summary: 'Acknowledge a message: its work is done',
    route: 'POST /channels/:name/groups/:group/ack',
    repeatable: true,
  }),
  /**
   * Gives a message back to the group, which delivers it again later. After too many attempts, it becomes a dead
   * letter instead.
   */
  nack: verb<
    (name: string, group: string, claim: shapes.Claim & { readonly why?: string }) => Promise<shapes.Nacked>
  >('channels.nack')({
    ...member,
    summary: 'Give a message back, to be delivered again later',
    route: 'POST /channels/:name/groups/:group/nack',
  }),
  /** Renews the lease of a message, for work that takes longer than the lease. */
  extend: verb<Settle<{ seq: number; lease_until: number }>>('channels.extend')({
    ...member,
    summary: 'Renew the lease of a message',
    route: 'POST /channels/:name/groups/:group/extend',
    repeatable: true,
  }),
  /**
   * Lists the dead letters of the channel, oldest first: messages that its groups could not process and that nobody
   * has retried or dropped.
   */
  deadLetters: verb<(name: string) => Promise<{ readonly letters: readonly shapes.BuriedMessage[] }>>(
    'channels.dead',
  )({
    summary: 'List the dead letters of a channel: messages that its groups could not process',
    route: 'GET /channels/:name/dead',
    channels: onChannel,
  }),
  /**
   * Delivers a dead letter to its group again and resets its number of attempts. Rejects with `conflict` if the
   * message has expired.
   */
  retryDead: verb<(name: string, seq: number) => Promise<shapes.RevivedLetter>>('channels.retry_dead')({
    summary: 'Deliver a dead letter to its group again',
    route: 'POST /channels/:name/dead/:seq/retry',
    args: ['name', 'seq'],
    channels: onChannel,
  }),
  dropDead: verb<(name: string, seq: number) => Promise<void>>('channels.drop_dead')({
    summary: 'Drop a dead letter: it will not be processed',
    route: 'DELETE /channels/:name/dead/:seq',
    args: ['name', 'seq'],
    channels: onChannel,
    status: 204,
  }),
  /** Changes settings of a group and returns all its settings. Without options, changes nothing. */
  setGroup: verb<
    (name: string, group: string, o?: shapes.GroupOptions) => Promise<Required<shapes.GroupOptions>>
  >('channels.set_group')({
    ...member,
    summary: 'Set how long a group waits before it delivers a failed message again',
    route: 'POST /channels/:name/groups/:group',
    repeatable: true,
  }),
  /**
   * Deletes a channel with its messages, groups and dead letters. Pushed payloads stay. Rejects with `conflict` if a
   * group has active members.
   */
  remove: verb<(name: string) => Promise<void>>('channels.remove')({
    summary: 'Delete a channel with its messages, groups and dead letters',
    scope: 'push',
    route: 'DELETE /channels/:name',
    channels: onChannel,
    status: 204,
  }),
  /** Deletes the group and its list of unprocessed messages. */
  removeGroup: verb<(name: string, group: string) => Promise<void>>('channels.remove_group')({
    ...member,
    summary: 'Delete a group and its list of unprocessed messages',
    route: 'DELETE /channels/:name/groups/:group',
    status: 204,
  }),
};

export interface ChannelsApi extends Api<typeof channels> {}

const inboxVerb = verbs({ scope: 'subscribe', args: ['agent', 'channel'] });

export const inbox = {
  read: inboxVerb<(agent: string, o?: { limit?: number; newest?: boolean }) => Promise<shapes.Inbox>>(
    'inbox.read',
  )({
    summary: 'Get the unread messages of a named agent in the channels it follows',
    route: 'GET /inbox/:agent',
    args: ['agent'],
  }),
  /**
   * Moves read cursors forward. A cursor never moves back: after two concurrent calls, it has the higher position.
   */
  markRead: inboxVerb<(agent: string, cursors: { readonly [channel: string]: number }) => Promise<void>>(
    'inbox.mark_read',
  )({
    summary: 'Mark messages as read, by channel and sequence number',
    route: 'POST /inbox/:agent/read',
    args: ['agent', 'cursors'],
    channels: ({ cursors }) => Object.keys(cursors),
    status: 204,
    repeatable: true,
  }),
  /**
   * Subscribes the agent's inbox to a channel from now on, or from `since`. Changes nothing if it is already
   * subscribed. Returns the cursor.
   */
  follow: inboxVerb<
    (agent: string, channel: string, o?: { since?: shapes.Since }) => Promise<shapes.Followed>
  >('inbox.follow')({
    summary: 'Subscribe the inbox of a named agent to a channel',
    route: 'POST /inbox/:agent/channels',
    channels: ({ channel }) => [channel],
    repeatable: true,
  }),
  unfollow: inboxVerb<(agent: string, channel: string) => Promise<void>>('inbox.unfollow')({
    summary: 'Unsubscribe the inbox of a named agent from a channel',
    route: 'DELETE /inbox/:agent/channels/:channel',
    channels: ({ channel }) => [channel],
    status: 204,
  }),
};

/** Inboxes: unread messages of named agents, for agents and hooks that cannot keep a connection open. */
export interface InboxApi extends Api<typeof inbox> {}
