import type { Json, JsonObject } from '../base/json.ts';
import { type Api, verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

/** A message of a channel: a pointer (`url`) or a signal (`msg`). */
export interface Message {
  readonly url?: string;
  readonly msg?: Json;
  /** When it was put on the channel, in ms. */
  readonly ts: number;
  /** Grows along the channel; need not be gapless. Resume from it with `since`. */
  readonly seq: number;
  /** Set by the relay, not by the sender. */
  readonly from: string;
  readonly metadata?: JsonObject;
  /** The payload key as a Fernet token under the channel's key. */
  readonly sealed_key?: string;
  /** In a group: what proves that this member holds the work. */
  readonly token?: number;
  /** In a group: how often it has been handed out, this time included. */
  readonly attempt?: number;
  /** In a group: until when it is this member's, in ms. */
  readonly lease_until?: number;
  /** On a channel of dead letters: where it comes from, and why. */
  readonly dead?: DeadLetter;
  /** On the first message behind others that the reader asked for and that are no longer kept. */
  readonly gap?: true;
}

export interface DeadLetter {
  readonly channel: string;
  readonly group: string;
  readonly seq: number;
  readonly ts: number;
  readonly attempts: number;
  /** `attempts` used up, `age`: never claimed while it was kept, `gone`: its pointer had expired or been revoked. */
  readonly reason: 'attempts' | 'age' | 'gone';
}

/** `all`, a sequence, a moment as ms (from 10¹² on) or ISO 8601. */
export type Since = number | string;

export interface SubscribeOptions {
  /** What to begin behind; only what comes from now on by default. A group that exists goes on where it was. */
  readonly since?: Since;
  /** Share the messages with the other members of this group, each under a lease. */
  readonly group?: string;
  /** How many messages of the group to hold at once; one by default. */
  readonly prefetch?: number;
  readonly signal?: AbortSignal;
}

export interface Published {
  readonly channel: string;
  readonly seq: number;
  readonly ts: number;
}

export interface ChannelInfo {
  readonly name: string;
  readonly messages: number;
  /** 0 where there has been none. */
  readonly last_seq: number;
  readonly last_at: string | null;
  readonly groups: readonly string[];
}

export interface ChannelPage {
  readonly channels: readonly ChannelInfo[];
  /** Pass as `after` to go on; absent at the end. */
  readonly next?: string;
}

export interface ChannelDetail extends Omit<ChannelInfo, 'groups'> {
  readonly first_seq: number;
  /** Dead letters that nobody has retried or dropped. */
  readonly dead: number;
  readonly groups: readonly GroupDetail[];
}

export interface GroupDetail {
  readonly name: string;
  /** Messages that no member has claimed yet, or that came back. */
  readonly backlog: number;
  readonly members: readonly { readonly name: string; readonly since: string }[];
  readonly leases: readonly Lease[];
}

export interface Lease extends Claim {
  readonly attempt: number;
  readonly member: string;
  readonly lease_until: string;
}

/** Which piece of work, and the proof that it is the caller's. */
export interface Claim {
  readonly seq: number;
  readonly token: number;
}

/** A dead letter, by its place among the dead letters of its channel. */
export type BuriedMessage = Message & { readonly dead: DeadLetter };

export interface RevivedLetter {
  readonly channel: string;
  readonly group: string;
  /** The message that is handed out again. */
  readonly seq: number;
  /** A task has got its failed result by then, so it is sent anew: the id of the new one. */
  readonly task?: string;
}

/** What became of work that was given back. */
export interface Nacked {
  readonly seq: number;
  /** It went among the dead letters: it has been handed out as often as it may. */
  readonly dead: boolean;
  /** When it is handed out again, in ms. */
  readonly retry_at?: number;
}

export interface GroupOptions {
  /** The waits before failed work comes back, in ms, the last one repeated; null for those of the relay. As they are by default. */
  readonly retry?: readonly number[] | null;
}

const onChannel = ({ name }: { name: string }) => [name];
const member = { args: ['name', 'group'], channels: onChannel } as const;

type Settle<T> = (name: string, group: string, claim: Claim) => Promise<T>;

const verb = verbs({ scope: 'subscribe', args: ['name'] });

export const channels = {
  list: verb<(o?: { after?: string; limit?: number }) => Promise<ChannelPage>>('channels.list')({
    summary: 'The channels there are',
    route: 'GET /channels',
    args: [],
  }),
  inspect: verb<(name: string) => Promise<ChannelDetail>>('channels.inspect')({
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
  publish: verb<(name: string, msg: Json, o?: { idempotency_key?: string }) => Promise<Published>>(
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
  subscribe: verb<(name: string, o?: SubscribeOptions) => AsyncIterable<Message>, 'input'>('channels.socket')(
    {
      summary: 'The messages of a channel over a WebSocket; the rest of the path is its name',
      route: 'GET /ws/:name',
      channels: onChannel,
      byHand: 'both',
      streams: true,
    },
  ),
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
  nack: verb<Settle<Nacked>>('channels.nack')({
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
  deadLetters: verb<(name: string) => Promise<{ readonly letters: readonly BuriedMessage[] }>>(
    'channels.dead',
  )({
    summary: 'The dead letters of a channel: work that its groups could not do',
    route: 'GET /channels/:name/dead',
    channels: onChannel,
  }),
  /** Has the group try again, from its first attempt on. Refused with `conflict` where the channel no longer keeps it. */
  retryDead: verb<(name: string, seq: number) => Promise<RevivedLetter>>('channels.retry_dead')({
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
  setGroup: verb<(name: string, group: string, o?: GroupOptions) => Promise<Required<GroupOptions>>>(
    'channels.set_group',
  )({
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
