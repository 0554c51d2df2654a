import type { Subscription } from '@nats-io/transport-node';
import type { JsonObject } from '../../base/json.ts';
import { Followers } from '../../kernel/engine.ts';
import type { Entry } from '../../kernel/logs.ts';
import { storedOf } from './connection.ts';
import { entryOf } from './messages.ts';
import { departureOf, type Store } from './opening.ts';

/** How often the leader is asked for the last sequence, in case the last message got lost on its way to us. */
export const LOOK_MS = 2_000;

/** The newest entries of a log that somebody follows, kept for those who are up to date. */
const TAIL_ENTRIES = 64;
const TAIL_BYTES = 256 * 1024;

interface Tail {
  /** Each follows the one before it: no entry of the log lies between them. */
  readonly entries: { readonly entry: Entry; readonly bytes: number }[];
  /** The sequence of the entry before the first one. */
  before: number;
  bytes: number;
}

/**
 * What is appended to the logs as it comes, by one subscription for this server. JetStream sends every entry on once it is
 * stored, with the sequence of the entry before it. Where one is missing the follower reads the log, and a look at the last
 * sequence now and then finds what got lost at the end.
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
        const stored = storedOf(message);
        this.#seen = Math.max(this.#seen, stored.seq);
        const token = message.subject.slice(this.#prefix.length);
        // What nobody follows is not kept, and what was kept before is no longer the end of it.
        if (!this.#followers.has(token)) return void this.#tails.delete(token);
        const { id: _, ...entry } = entryOf(stored);
        this.#keep(token, before, { entry, bytes: stored.data.length });
        this.#followers.wake(token);
      },
    });
    let looking = false;
    const look = async () => {
      if (looking) return;
      looking = true;
      // A leader that does not answer is asked again at the next look.
      await this.look().catch(() => {});
      looking = false;
    };
    this.#timer = setInterval(() => void look(), LOOK_MS);
    this.#timer.unref();
    void this.#watchConnection();
  }

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

  /** The log was dropped. */
  forget(token: string): void {
    this.#tails.delete(token);
  }

  /** Asks the leader how far it is, and wakes all where entries were stored that did not come by. */
  async look(): Promise<{ leader: string | null; behind: number; clockAheadMs: number }> {
    const sentAt = this.#store.env.now();
    const info = await this.#store.connection.api(`STREAM.INFO.${this.#store.streams.logs}`);
    const clockAheadMs = aheadOf(info!.ts as string | undefined, sentAt, this.#store.env.now());
    const { last_seq: last } = info!.state as { last_seq: number };
    const config = info!.config as JsonObject;
    this.#store.firstSeq = (config.first_seq as number | undefined) ?? 1;
    this.#store.connection.frozen = departureOf(config) !== null;
    const { leader = null } = (info!.cluster ?? {}) as { leader?: string };
    const behind = Math.max(0, last - this.#seen);
    if (behind > 0) {
      this.#seen = last;
      this.#tails.clear();
      this.#followers.wakeAll();
    }
    return { leader, behind, clockAheadMs };
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

  /** What follows the cursor, where it is here without a hole. Undefined: only the log itself knows. */
  #fromTail(token: string, cursor: number): Entry[] | undefined {
    const tail = this.#tails.get(token);
    if (!tail || cursor === 0) return undefined;
    if (cursor === tail.before) return tail.entries.map(({ entry }) => entry);
    const at = tail.entries.findIndex(({ entry }) => entry.seq === cursor);
    return at < 0 ? undefined : tail.entries.slice(at + 1).map(({ entry }) => entry);
  }

  /** After a break anything may have come. */
  async #watchConnection(): Promise<void> {
    for await (const { type } of this.#store.connection.nats.status()) {
      if (type !== 'reconnect') continue;
      this.#tails.clear();
      this.#followers.wakeAll();
    }
  }
}

/**
 * How far our clock is certainly ahead of the leader's (negative: behind). The leader wrote its stamp some time between
 * `sentAt` and `heardAt`, so the difference is 0 when the stamp lies between them.
 */
export function aheadOf(stamp: string | undefined, sentAt: number, heardAt: number): number {
  const leader = Date.parse(stamp ?? '');
  if (leader < sentAt) return sentAt - leader;
  return leader > heardAt ? heardAt - leader : 0;
}
