import type { Message, Since } from './channels.ts';
import { type Api, verbs } from './verb.ts';

export interface Followed {
  readonly agent: string;
  readonly channel: string;
  /** Everything up to here has been read. */
  readonly cursor: number;
}

export interface InboxMessage extends Message {
  readonly channel: string;
}

export interface Inbox {
  readonly agent: string;
  readonly following: readonly string[];
  /** In the order of time; `gap` marks the first behind others that were no longer kept. */
  readonly messages: readonly InboxMessage[];
  /** There is more than fits into one answer. */
  readonly more: boolean;
  /** What to mark as read once these messages have been seen: channel → sequence. */
  readonly cursors: { readonly [channel: string]: number };
}

const verb = verbs({ scope: 'subscribe', args: ['agent', 'channel'] });

export const inbox = {
  read: verb<(agent: string, o?: { limit?: number; newest?: boolean }) => Promise<Inbox>>('inbox.read')({
    summary: 'What a named agent has not read yet in the channels it follows',
    route: 'GET /inbox/:agent',
    args: ['agent'],
  }),
  /** Only ever forward: of two that mark at the same time, the further one counts. */
  markRead: verb<(agent: string, cursors: { readonly [channel: string]: number }) => Promise<void>>(
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
  follow: verb<(agent: string, channel: string, o?: { since?: Since }) => Promise<Followed>>('inbox.follow')({
    summary: 'Have a channel’s messages kept for a named agent',
    route: 'POST /inbox/:agent/channels',
    channels: ({ channel }) => [channel],
    repeatable: true,
  }),
  unfollow: verb<(agent: string, channel: string) => Promise<void>>('inbox.unfollow')({
    summary: 'Stop following a channel',
    route: 'DELETE /inbox/:agent/channels/:channel',
    channels: ({ channel }) => [channel],
    status: 204,
  }),
};

/** What a named agent has not read yet, for agents and hooks that cannot keep a connection open. */
export interface InboxApi extends Api<typeof inbox> {}
