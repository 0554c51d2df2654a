import type { Json } from '../base/json.ts';
import type * as shapes from '../schemas/channels.ts';
import { type Api, verbs } from './verb.ts';

export type * from '../schemas/channels.ts';

export interface SubscribeOptions {
  /** What to begin behind; only what comes from now on by default. A group that exists goes on where it was. */
  readonly since?: shapes.Since;
  /** Share the messages with the other members of this group, each under a lease. */
  readonly group?: string;
  /** How many messages of the group to hold at once; one by default. */
  readonly prefetch?: number;
  readonly signal?: AbortSignal;
}

const onChannel = ({ name }: { name: string }) => [name];
const member = { args: ['name', 'group'], channels: onChannel } as const;

type Settle<T> = (name: string, group: string, claim: shapes.Claim) => Promise<T>;

const verb = verbs({ scope: 'subscribe', args: ['name'] });

export const channels = {
  list: verb<(o?: { after?: string; limit?: number }) => Promise<shapes.ChannelPage>>('channels.list')({
    summary: 'The channels there are',
    route: 'GET /channels',
    args: [],
  }),
  inspect: verb<(name: string) => Promise<shapes.ChannelDetail>>('channels.inspect')({
    summary: 'A channel and its groups: backlog, members, leases',
    route: 'GET /channels/:name',
    channels: onChannel,
  }),
  /** The sequence of the newest message, 0 where there is none: what `since` takes to get all that follows. */
  position: verb<(name: string) => Promise<number>>('channels.position')({
    summary: 'The newest sequence of a channel: `since` takes it to get all that follows',
    route: 'GET /channels/:name/position',
    channels: onChannel,
    answer: 'seq',
  }),
  publish: verb<(name: string, msg: Json, o?: { idempotency_key?: string }) => Promise<shapes.Published>>(
    'channels.publish',
  )({
    summary: 'Send a signal to all subscribers of a channel',
    scope: 'push',
    route: 'POST /channels/:name',
    args: ['name', 'msg'],
    channels: onChannel,
    headers: { idempotency_key: 'Idempotency-Key' },
  }),
  events: verb<null, 'input' | 'output'>('channels.events')({
    summary: 'The messages of a channel as server-sent events',
    route: 'GET /channels/:name/events',
    channels: onChannel,
    headers: { last_event_id: 'Last-Event-ID' },
    byHand: 'both',
    only: 'http',
  }),
  /** Replays, then goes live; nothing lost, nothing twice, in order. Ends when the signal fires. */
  subscribe: verb<(name: string, o?: SubscribeOptions) => AsyncIterable<shapes.Message>, 'input'>(
    'channels.socket',
  )({
    summary: 'The messages of a channel over a WebSocket; the rest of the path is its name',
    route: 'GET /ws/:name',
    channels: onChannel,
    byHand: 'both',
    streams: true,
  }),
  /** Good for one WebSocket within half a minute, for browsers: they cannot send headers with it. */
  ticket: verb<() => Promise<{ ticket: string; expires_at: string }>>('channels.ticket')({
    summary: 'A ticket for one WebSocket within 30 seconds, for browsers: they cannot send headers with it',
    route: 'POST /ws-ticket',
    args: [],
    repeatable: true,
  }),
  /** The work is done. A token that is no longer the newest is refused with `conflict`. */
  ack: verb<Settle<{ seq: number }>>('channels.ack')({
    ...member,
    summary: 'The work is done',
    route: 'POST /channels/:name/groups/:group/ack',
    repeatable: true,
  }),
  /** Give it back: it is handed out again after a while, or it goes among the dead letters. */
  nack: verb<Settle<shapes.Nacked>>('channels.nack')({
    ...member,
    summary: 'Give the work back, for another member',
    route: 'POST /channels/:name/groups/:group/nack',
  }),
  /** Still at work. */
  extend: verb<Settle<{ seq: number; lease_until: number }>>('channels.extend')({
    ...member,
    summary: 'Still at work: the lease begins anew',
    route: 'POST /channels/:name/groups/:group/extend',
    repeatable: true,
  }),
  /** Work that groups of the channel could not do and that nobody has retried or dropped, oldest first. */
  deadLetters: verb<(name: string) => Promise<{ readonly letters: readonly shapes.BuriedMessage[] }>>(
    'channels.dead',
  )({
    summary: 'The dead letters of a channel: work that its groups could not do',
    route: 'GET /channels/:name/dead',
    channels: onChannel,
  }),
  /** Has the group try again, from its first attempt on. Refused with `conflict` where the channel no longer keeps it. */
  retryDead: verb<(name: string, seq: number) => Promise<shapes.RevivedLetter>>('channels.retry_dead')({
    summary: 'Hand a dead letter out again, to the group that could not do it',
    route: 'POST /channels/:name/dead/:seq/retry',
    args: ['name', 'seq'],
    channels: onChannel,
  }),
  dropDead: verb<(name: string, seq: number) => Promise<void>>('channels.drop_dead')({
    summary: 'Take a dead letter from the list: nobody will do it',
    route: 'DELETE /channels/:name/dead/:seq',
    args: ['name', 'seq'],
    channels: onChannel,
    status: 204,
  }),
  /** How a group goes about its work, changed or as it is. */
  setGroup: verb<
    (name: string, group: string, o?: shapes.GroupOptions) => Promise<Required<shapes.GroupOptions>>
  >('channels.set_group')({
    ...member,
    summary: 'Choose how long failed work of a group waits before it comes back',
    route: 'POST /channels/:name/groups/:group',
    repeatable: true,
  }),
  /** Forgets the group and whatever it had not done. */
  removeGroup: verb<(name: string, group: string) => Promise<void>>('channels.remove_group')({
    ...member,
    summary: 'Forget a group and whatever it had not done',
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
    summary: 'What a named agent has not read yet in the channels it follows',
    route: 'GET /inbox/:agent',
    args: ['agent'],
  }),
  /** Only ever forward: of two that mark at the same time, the further one counts. */
  markRead: inboxVerb<(agent: string, cursors: { readonly [channel: string]: number }) => Promise<void>>(
    'inbox.mark_read',
  )({
    summary: 'Mark messages as read: channel → sequence',
    route: 'POST /inbox/:agent/read',
    args: ['agent', 'cursors'],
    channels: ({ cursors }) => Object.keys(cursors),
    status: 204,
    repeatable: true,
  }),
  /** From now on, unless `since` says otherwise. Following again changes nothing and gives where it stands. */
  follow: inboxVerb<
    (agent: string, channel: string, o?: { since?: shapes.Since }) => Promise<shapes.Followed>
  >('inbox.follow')({
    summary: 'Have a channel’s messages kept for a named agent',
    route: 'POST /inbox/:agent/channels',
    channels: ({ channel }) => [channel],
    repeatable: true,
  }),
  unfollow: inboxVerb<(agent: string, channel: string) => Promise<void>>('inbox.unfollow')({
    summary: 'Stop following a channel',
    route: 'DELETE /inbox/:agent/channels/:channel',
    channels: ({ channel }) => [channel],
    status: 204,
  }),
};

/** What a named agent has not read yet, for agents and hooks that cannot keep a connection open. */
export interface InboxApi extends Api<typeof inbox> {}
