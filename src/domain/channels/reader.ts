import type { Env } from '../../base/env.ts';
import { badRequest, type RelayError } from '../../base/errors.ts';
import { PREFETCH_MAX } from '../../base/limits.ts';
import type { Since, SubscribeOptions } from '../../contract/channels.ts';
import type { Entry, Logs } from '../../kernel/logs.ts';
import { checkCount, checkGroupName } from '../names.ts';
import { channelEntry } from './message.ts';

/** Smallest number in `since` that is a time in ms (in September 2001). Smaller numbers are sequences. */
const FIRST_MOMENT = 1e12;

/** Position at which a reader starts. */
export interface Start {
  /** Sequence after which the reader gets messages. */
  readonly after: number;
  /** True if messages that the reader asked for no longer exist. */
  readonly gap: boolean;
  /**
   * True if the reader wants all messages that the channel still has. Messages that were deleted earlier are then no
   * gap.
   */
  readonly lenient: boolean;
}

/** Parses `since`. Throws `bad_request` if it is invalid. */
export function parseSince(since: Since | undefined): { seq: number } | { time: number } | 'all' | 'now' {
  if (since === undefined || since === null || since === '') return 'now';
  if (since === 'all') return 'all';
  const number = typeof since === 'number' ? since : /^\d{1,16}$/.test(since) ? Number(since) : null;
  if (number !== null) {
    if (!Number.isSafeInteger(number) || number < 0) throw badSince(since);
    return number < FIRST_MOMENT ? { seq: number } : { time: number };
  }
  const text = String(since);
  const time = /^\d{4}-\d\d-\d\d(T|$| )/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw badSince(since);
  return { time };
}

/**
 * Parses the query of a subscription. Throws `bad_request` if it is invalid, before the subscription starts.
 */
export function checkSubscription(query: {
  since?: string;
  group?: string;
  prefetch?: string;
}): Omit<SubscribeOptions, 'signal'> {
  const { since, group, prefetch } = query;
  parseSince(since);
  return {
    since,
    group: group === undefined ? undefined : checkGroupName(group),
    prefetch: prefetch === undefined ? undefined : checkCount('prefetch', Number(prefetch), PREFETCH_MAX),
  };
}

export async function findStart(logs: Logs, stream: string, since: Since | undefined): Promise<Start> {
  const start = parseSince(since);
  if (start === 'all') return { after: 0, gap: false, lenient: true };
  if (start !== 'now' && 'time' in start) return startAt(logs, stream, start.time);
  const { last } = await logs.info(stream);
  if (start === 'now') return { after: last, gap: false, lenient: false };
  // The requested position is after the end of the channel: the store was restored from a backup or is
  // another store. Messages may be missing, so report a gap.
  if (start.seq > last) return { after: last, gap: last > 0 || start.seq > 0, lenient: false };
  return { after: start.seq, gap: false, lenient: false };
}

/**
 * Finds the position before the first message that is not older than `time`. It uses a binary search over
 * sequences, which may have holes.
 */
export async function startAt(logs: Logs, stream: string, time: number): Promise<Start> {
  const { first, last } = await logs.info(stream);
  let low = first - 1;
  let high = last;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [entry] = (await logs.read(stream, { after: Math.max(middle, 0), limit: 1 })).entries;
    if (entry && entry.at < time) low = entry.seq;
    else high = middle;
  }
  const trimmed = low < first && (await logs.read(stream, { after: 0, limit: 1 })).gap === true;
  return { after: Math.max(low, 0), gap: trimmed, lenient: false };
}

/**
 * A channel's log as one reader sees it. It contains only messages within the retention, even if older
 * messages are not trimmed yet. The first message after missing messages has a gap mark.
 */
export class ReaderView {
  readonly #env: Env;
  readonly #retentionMs: number;
  #lenient: boolean;
  #hole: boolean;

  constructor(env: Env, retentionMs: number, start: Start) {
    this.#env = env;
    this.#retentionMs = retentionMs;
    this.#lenient = start.lenient;
    this.#hole = start.gap;
  }

  /**
   * True if deleted messages are no gap: the reader wants all messages that the channel still has, and has seen none
   * yet.
   */
  get lenient(): boolean {
    return this.#lenient;
  }

  /** True if the next message that the reader sees will have the gap mark. */
  get owesGap(): boolean {
    return this.#hole;
  }

  /**
   * Returns the entry, with the gap mark if messages before it are missing. Returns null if the reader must not get
   * it. Call it for every entry, in order.
   */
  see(entry: Entry): Entry | null {
    if (entry.gap && !this.#lenient) this.#hole = true;
    if (channelEntry(entry.data) === null) return null;
    if (entry.at < this.#env.now() - this.#retentionMs) {
      if (!this.#lenient) this.#hole = true;
      return null;
    }
    this.#lenient = false;
    const { gap, ...seen } = entry;
    if (this.#hole) {
      this.#hole = false;
      return { ...seen, gap: true };
    }
    return gap ? seen : entry;
  }
}

function badSince(since: unknown): RelayError {
  return badRequest(
    `"since" cannot be ${JSON.stringify(String(since).slice(0, 40))}.`,
    'Use all, a sequence number, a time such as 2026-11-12T09:30:00Z, or milliseconds.',
  );
}
