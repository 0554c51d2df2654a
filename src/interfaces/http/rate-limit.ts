import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { type Caller, isAnonymous, LOCAL_CALLER } from '../../contract/caller.ts';

export interface RateLimits {
  /** Requests per second of one key. */
  readonly perKey: number;
  /** Requests per second of one address without a key. */
  readonly perAddress: number;
  /** Requests per second of all keys of one tenant together. No limit by default. */
  readonly perTenant?: number;
  /** Bucket size in seconds: this many seconds' worth of requests may come at once. 2 by default. */
  readonly burst?: number;
}

const BURST_S = 2;
const BYTES_PER_TOKEN = 1024 * 1024;
/** Maximum number of buckets. The least recently used is dropped first, and starts full when it returns. */
const REMEMBERED = 20_000;
/**
 * Maximum delay of a rejection, in ms. The delay slows down clients that retry at once. It is random, so that clients
 * rejected together do not return together.
 */
const HOLD_MS = 1_000;
/** Maximum number of delayed rejections. Further requests are rejected at once. */
const MAX_HELD = 2_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Rate limiter: rejects callers that send too many requests. */
export interface Limiter {
  /** Resolves at once, or rejects with `rate_limited` after a delay. With a key, the address does not matter. */
  check(caller: Caller | null, address: string): Promise<void>;
  /**
   * Counts bytes that the relay read for a request: 1 MiB costs as much as one request. Only later requests of the
   * caller are delayed by it.
   */
  charge(caller: Caller | null, address: string, bytes: number): void;
}

/** Token buckets per key, tenant and address, in memory. Each server limits only its own requests. */
export class RateLimiter implements Limiter {
  readonly #limits: RateLimits;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #held = 0;

  constructor(limits: RateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  async check(caller: Caller | null, address: string): Promise<void> {
    const wait = this.wait(caller, address);
    if (wait === 0) return;
    if (this.#held < MAX_HELD) {
      this.#held++;
      await pause(HOLD_MS * (0.5 + Math.random() / 2));
      this.#held--;
    }
    throw new RelayError('rate_limited', { seconds: Math.ceil(wait) });
  }

  /** Takes a token from each bucket and returns 0. If a bucket is empty, returns the seconds until it has a token. */
  wait(caller: Caller | null, address: string): number {
    let wait = 0;
    for (const [name, perSecond] of this.#bucketsOf(caller, address)) wait ||= this.take(name, perSecond);
    return wait;
  }

  charge(caller: Caller | null, address: string, bytes: number): void {
    for (const [name, perSecond] of this.#bucketsOf(caller, address)) {
      if (Number.isFinite(perSecond)) this.#filled(name, perSecond).tokens -= bytes / BYTES_PER_TOKEN;
    }
  }

  #bucketsOf(caller: Caller | null, address: string): [name: string, perSecond: number][] {
    const { perKey, perAddress, perTenant = Number.POSITIVE_INFINITY } = this.#limits;
    if (caller === null || isAnonymous(caller)) return [[`a:${address}`, perAddress]];
    if (caller === LOCAL_CALLER) return [[`l:${address}`, perKey]];
    return [
      [`k:${caller.keyId}`, perKey],
      [`t:${caller.tenant}`, perTenant],
    ];
  }

  /** Takes a token from one bucket and returns 0, or returns the seconds until it has a token. */
  take(name: string, perSecond: number): number {
    if (!Number.isFinite(perSecond)) return 0;
    const bucket = this.#filled(name, perSecond);
    if (bucket.tokens < 1) return (1 - bucket.tokens) / perSecond;
    bucket.tokens -= 1;
    return 0;
  }

  /** Returns the bucket, refilled up to now. */
  #filled(name: string, perSecond: number): Bucket {
    const now = this.#now();
    const most = Math.max(1, perSecond * (this.#limits.burst ?? BURST_S));
    const bucket = this.#buckets.get(name) ?? { tokens: most, at: now };
    bucket.tokens = Math.min(most, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > REMEMBERED) this.#buckets.delete(this.#buckets.keys().next().value!);
    return bucket;
  }
}
