import type { Message, Since } from '../channels/types.ts';

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

/** What a named agent has not read yet, for agents and hooks that cannot keep a connection open. */
export interface InboxApi {
  /** From now on, unless `since` tells otherwise. Following again changes nothing and gives where it stands. */
  follow(agent: string, channel: string, o?: { since?: Since }): Promise<Followed>;
  unfollow(agent: string, channel: string): Promise<void>;
  read(agent: string, o?: { limit?: number }): Promise<Inbox>;
  /** Only ever forward: of two that mark at the same time, the further one counts. */
  markRead(agent: string, cursors: { readonly [channel: string]: number }): Promise<void>;
}
