import { badRequest, RelayError } from '../../base/errors.ts';
import { INBOX_CHANNELS, INBOX_FOLLOWS, INBOX_MESSAGES } from '../../base/limits.ts';
import { mayUseChannel } from '../../contract/authorize.ts';
import type { Caller, CallerAt } from '../../contract/caller.ts';
import type { Followed, InboxMessage, Since } from '../../contract/channels.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Background } from '../background.ts';
import type { Channels } from '../channels/channels.ts';
import type { Deps } from '../deps.ts';
import {
  checkAgentName,
  checkChannelName,
  checkCount,
  followsKey,
  fromSegment,
  inboxesPrefix,
  inboxKey,
  inboxPrefix,
} from '../names.ts';
import type { Receipts } from '../receipts/receipts.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';

/** Record of an agent that follows a channel. */
export interface FollowRecord {
  /** Sequence of the last message that the agent has read. */
  readonly cursor: number;
  readonly followed: number;
  /** Time in ms when the cursor was last moved. */
  readonly read?: number;
}

interface InboxParts {
  readonly deps: Deps;
  readonly channels: Channels;
  readonly receipts: Receipts;
  readonly background: Background;
  actingAs(caller: Caller, agent: string): Caller;
}

interface Following {
  readonly channel: string;
  readonly cursor: number;
}

/** Inboxes of agents. For each agent and channel, a record says how far the agent has read. */
export class Inboxes {
  readonly #parts: InboxParts;
  readonly #records: RecordsOf<FollowRecord>;

  constructor(parts: InboxParts) {
    this.#parts = parts;
    this.#records = recordsOf(parts.deps.engine.records);
  }

  async follow(caller: Caller, rawAgent: string, name: string, o: { since?: Since } = {}): Promise<Followed> {
    const agent = checkAgentName(rawAgent);
    const channel = checkChannelName(name);
    const key = inboxKey(caller.tenant, agent, channel);
    const stored = await this.#records.get(key);
    if (stored) return { agent, channel, cursor: stored.value.cursor };
    if (await this.#parts.channels.isPattern(caller, channel, {}))
      throw badRequest(
        `No channel is called "${channel}", and an inbox takes no wildcards.`,
        'Follow each channel by its name, or watch all of them with: relay watch',
      );
    await this.#checkRoom(caller, agent);
    const { after } = await this.#parts.channels.start(caller.tenant, channel, o.since);
    const value = { cursor: after, followed: this.#parts.deps.env.now() };
    const giveBack = await this.#count(caller.tenant);
    const won = await this.#records.put(key, value, { expect: 'absent' });
    if (won !== null) return { agent, channel, cursor: after };
    await giveBack();
    return this.follow(caller, agent, channel, o);
  }

  /**
   * Adds one to the tenant's number of follows and returns a function that subtracts it again. If the
   * process crashes before the follow is stored, the number stays one too high.
   */
  async #count(tenant: string): Promise<() => Promise<unknown>> {
    const { records } = this.#parts.deps.engine;
    const key = followsKey(tenant);
    if ((await records.get(key)) === null) {
      // The tenant has no counter yet. Count the follows that earlier versions have stored.
      let follows = 0;
      for await (const _ of allRecords(records, inboxesPrefix(tenant))) follows++;
      await records.put(key, follows, { expect: 'absent' });
    }
    if ((await records.add(key, 1, { max: INBOX_FOLLOWS })) !== null) return () => records.add(key, -1);
    throw badRequest(
      `The agents of this tenant follow ${INBOX_FOLLOWS} channels in total, which is the limit.`,
      'Unfollow some: relay unfollow <channel> --as NAME',
    );
  }

  async unfollow(caller: Caller, rawAgent: string, name: string): Promise<void> {
    const agent = checkAgentName(rawAgent);
    const channel = checkChannelName(name);
    if (!(await this.#records.delete(inboxKey(caller.tenant, agent, channel)))) {
      throw notFollowing(agent, channel);
    }
    await this.#parts.deps.engine.records.add(followsKey(caller.tenant), -1);
  }

  async read(caller: CallerAt, rawAgent: string, o: { limit?: number; newest?: boolean } = {}) {
    const agent = checkAgentName(rawAgent);
    const limit = checkCount('limit', o.limit ?? INBOX_MESSAGES, INBOX_MESSAGES);
    const all = await this.#following(caller, agent);
    const following = all.filter(({ channel }) => mayUseChannel(caller, channel));
    const unread = await Promise.all(
      following.map((each) =>
        o.newest ? this.#newest(caller, each, limit) : this.#unread(caller, each, limit),
      ),
    );
    const messages = merge(unread, limit, o.newest ?? false);
    const cursors: { [channel: string]: number } = {};
    for (const { channel, seq } of messages) cursors[channel] = seq;
    const found = unread.reduce((sum, list) => sum + list.length, 0);
    return {
      agent,
      following: following.map(({ channel }) => channel),
      messages,
      more: found > messages.length,
      cursors,
    };
  }

  async markRead(caller: Caller, rawAgent: string, cursors: { readonly [channel: string]: number }) {
    const agent = checkAgentName(rawAgent);
    for (const [name, seq] of Object.entries(cursors)) {
      const channel = checkChannelName(name);
      if (seq > (await this.#parts.channels.position(caller, channel))) {
        throw badRequest(`The channel ${JSON.stringify(channel)} has no message ${seq} yet.`);
      }
      const before = await this.#advance(caller, agent, channel, seq);
      if (before < seq) this.#parts.background.run(() => this.#noteRead(caller, agent, channel, before, seq));
    }
  }

  /** Moves the cursor forward and returns its old position. */
  #advance(caller: Caller, agent: string, channel: string, seq: number): Promise<number> {
    const key = inboxKey(caller.tenant, agent, channel);
    return compareAndSet('an inbox', async () => {
      const stored = await this.#records.get(key);
      if (!stored) throw notFollowing(agent, channel);
      const before = stored.value.cursor;
      if (before >= seq) return before;
      const value = { ...stored.value, cursor: seq, read: this.#parts.deps.env.now() };
      return (await this.#records.put(key, value, { expect: stored.revision })) === null ? null : before;
    });
  }

  /**
   * Records a `notified` receipt for each pointer in the messages that the agent has marked as read. Marking
   * them shows that the agent has received them.
   */
  async #noteRead(
    caller: Caller,
    agent: string,
    channel: string,
    after: number,
    upTo: number,
  ): Promise<void> {
    for await (const { seq, id } of this.#parts.channels.announced(caller.tenant, channel, after)) {
      if (seq > upTo) return;
      this.#parts.receipts.notified(id, this.#parts.actingAs(caller, agent));
    }
  }

  /**
   * Returns the newest unread messages of a channel. Sequences have holes, so a range may contain too few
   * messages. Then a larger range is read, until enough messages are found or the range begins at the
   * cursor.
   */
  async #newest(caller: CallerAt, { channel, cursor }: Following, limit: number): Promise<InboxMessage[]> {
    const last = await this.#parts.channels.position(caller, channel);
    for (let back = limit + 1; ; back *= 16) {
      const from = Math.max(cursor, last - back);
      const found = await this.#unread(caller, { channel, cursor: from }, back);
      if (found.length > limit || from === cursor) return found.slice(-limit - 1);
    }
  }

  /**
   * Returns the oldest unread messages of a channel, at most `limit` + 1. The additional message shows that
   * there are more.
   */
  async #unread(caller: CallerAt, { channel, cursor }: Following, limit: number) {
    const messages: InboxMessage[] = [];
    for await (const message of this.#parts.channels.messages(caller, channel, cursor)) {
      messages.push({ channel, ...message });
      if (messages.length > limit) break;
    }
    return messages;
  }

  async #following(caller: Caller, agent: string): Promise<Following[]> {
    const prefix = inboxPrefix(caller.tenant, agent);
    const { items } = await this.#records.list(prefix, { limit: INBOX_CHANNELS });
    return items.map(({ key, value }) => ({
      channel: fromSegment(key.slice(prefix.length)),
      cursor: value.cursor,
    }));
  }

  async #checkRoom(caller: Caller, agent: string): Promise<void> {
    if ((await this.#following(caller, agent)).length < INBOX_CHANNELS) return;
    throw badRequest(
      `${JSON.stringify(agent)} follows ${INBOX_CHANNELS} channels, which is the limit.`,
      'Unfollow some: relay unfollow <channel> --as NAME',
    );
  }
}

/**
 * Merges the messages of several channels by time. The order within a channel must stay the same, because a
 * cursor marks all messages of a channel up to a sequence as read.
 */
function merge(lists: readonly (readonly InboxMessage[])[], limit: number, newest: boolean): InboxMessage[] {
  // A message must not be sorted before an earlier message of its channel. So its time counts as at least the time of
  // that message.
  const timed = lists.flatMap((list) => {
    let at = 0;
    return list.map((message) => {
      at = Math.max(at, message.ts);
      return { message, at };
    });
  });
  timed.sort((a, b) => a.at - b.at);
  const page = newest ? timed.slice(-limit) : timed.slice(0, limit);
  return page.map(({ message }) => message);
}

function notFollowing(agent: string, channel: string): RelayError {
  return new RelayError('not_found', {
    what: `the subscription of ${JSON.stringify(agent)} to ${JSON.stringify(channel)}`,
    hint: 'Subscribe first: relay follow <channel> --as NAME',
  });
}
