import type { Subscription } from '@nats-io/transport-node';
import { Followers } from '../../kernel/engine.ts';
import type { Entry } from '../../kernel/logs.ts';
import { parseMessage } from './connection.ts';
import { entryOf } from './messages.ts';
import { parseMoveStatus, type Store } from './opening.ts';

/**
 * Time in ms between two polls of the leader for its last sequence. A poll detects that the newest message was lost
 * on its way.
 */
export const FEED_POLL_MS = 2_000;

/** Maximum number of cached entries per followed log: the newest ones. */
const TAIL_ENTRIES = 64;
/** Maximum number of bytes of cached entries per followed log. */
const TAIL_BYTES = 256 * 1024;

interface Tail {
  /** Consecutive entries: the log has no other entry between two of them. */
  readonly entries: { readonly entry: Entry; readonly bytes: number }[];
  /** Sequence of the entry directly before the first cached entry. */
  before: number;
  bytes: number;
}

/**
 * Delivers new log entries to followers, with one NATS subscription per server. JetStream republishes every stored
 * entry together with the sequence of the entry before it. If that entry was not received, the follower reads the
 * log. A poll of the last sequence detects that the newest entries were lost.
 */
export class LiveFeed {
  readonly #store: Store;
  readonly #followers = new Followers();
  readonly #tails = new Map<string, Tail>();
  readonly #subscription: Subscription;
  readonly #timer: NodeJS.Timeout;
  readonly #prefix: string;
  #seen = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#prefix = `${store.name}.live.`;
    this.#subscription = store.connection.nats.subscribe(`${this.#prefix}>`, {
      callback: (error, message) => {
        if (error) return;
        const before = Number(message.headers?.get('Nats-Last-Sequence') ?? 0);
        const stored = parseMessage(message);
        this.#seen = Math.max(this.#seen, stored.seq);
        const token = message.subject.slice(this.#prefix.length);
        // If no subscriber follows this log, drop its cached entries, which are no longer the newest.
        if (!this.#followers.has(token)) return void this.#tails.delete(token);
        const { id: _, ...entry } = entryOf(stored);
        this.#keep(token, before, { entry, bytes: stored.data.length });
        this.#followers.wake(token);
      },
    });
    let polling = false;
    const poll = async () => {
      if (polling) return;
      polling = true;
      // If the leader does not answer, the next poll asks again.
      await this.poll().catch(() => {});
      polling = false;
    };
    this.#timer = setInterval(() => void poll(), FEED_POLL_MS);
    this.#timer.unref();
    store.connection.onReconnect = () => this.#wakeAll();
  }

  /** Yields the entries after a sequence until the signal aborts. Calls `read` for entries that are not cached. */
  async *follow(
    token: string,
    after: number,
    signal: AbortSignal,
    read: (after: number) => Promise<Entry[]>,
  ): AsyncGenerator<Entry> {
    const next = async (cursor: number) => this.#fromTail(token, cursor) ?? read(cursor);
    try {
      yield* this.#followers.follow(token, after, signal, next);
    } finally {
      if (!this.#followers.has(token)) this.#tails.delete(token);
    }
  }

  /** Drops the cached entries of a log that was deleted. */
  forget(token: string): void {
    this.#tails.delete(token);
  }

  /** Asks the leader for its last sequence. Wakes all followers if some entries did not arrive at this server. */
  async poll(): Promise<{ leader: string | null; behind: number; clockAheadMs: number }> {
    const sentAt = this.#store.env.now();
    const { config, cluster, state, ts } = await this.#store.connection.info(this.#store.streams.logs);
    const clockAheadMs = clockAhead(ts, sentAt, this.#store.env.now());
    this.#store.firstSeq = config.first_seq ?? 1;
    this.#store.connection.frozen = parseMoveStatus(config) !== null;
    const behind = Math.max(0, state.last_seq - this.#seen);
    if (behind > 0) {
      this.#seen = state.last_seq;
      this.#wakeAll();
    }
    return { leader: cluster?.leader ?? null, behind, clockAheadMs };
  }

  end(): void {
    this.#followers.end();
    clearInterval(this.#timer);
    this.#subscription.unsubscribe();
  }

  #keep(token: string, before: number, next: Tail['entries'][number]): void {
    let tail = this.#tails.get(token);
    const last = tail?.entries.at(-1)?.entry.seq ?? -1;
    if (last >= next.entry.seq) return;
    if (!tail || last !== before) {
      tail = { entries: [], before, bytes: 0 };
      this.#tails.set(token, tail);
    }
    tail.entries.push(next);
    tail.bytes += next.bytes;
    while (tail.entries.length > TAIL_ENTRIES || (tail.bytes > TAIL_BYTES && tail.entries.length > 1)) {
      const oldest = tail.entries.shift()!;
      tail.bytes -= oldest.bytes;
      tail.before = oldest.entry.seq;
    }
  }

  /** Returns the entries after the cursor, or undefined if the cache does not contain all of them. */
  #fromTail(token: string, cursor: number): Entry[] | undefined {
    const tail = this.#tails.get(token);
    if (!tail || cursor === 0) return undefined;
    if (cursor === tail.before) return tail.entries.map(({ entry }) => entry);
    const at = tail.entries.findIndex(({ entry }) => entry.seq === cursor);
    return at < 0 ? undefined : tail.entries.slice(at + 1).map(({ entry }) => entry);
  }

  /** Clears the cache and wakes all followers, because entries may be missing. */
  #wakeAll(): void {
    this.#tails.clear();
    this.#followers.wakeAll();
  }
}

/**
 * Returns by how many ms this server's clock is ahead of the leader's clock; negative if it is behind. The leader
 * answered at the time `stamp` on its own clock, at some moment between `sentAt` and `heardAt` on this server's
 * clock. Only the difference that is certain is returned: 0 if `stamp` is between these two times.
 */
export function clockAhead(stamp: string | undefined, sentAt: number, heardAt: number): number {
  const leader = Date.parse(stamp ?? '');
  if (leader < sentAt) return sentAt - leader;
  return leader > heardAt ? heardAt - leader : 0;
}
