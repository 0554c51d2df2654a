import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { type Caller, isAnonymous, LOCAL_CALLER } from '../../contract/caller.ts';

export interface RateLimits {
  /** Maximum number of requests per second with one API key or, in open mode, from one address. */
  readonly perKey: number;
  /** Maximum number of requests per second from one address without an API key. */
  readonly perAddress: number;
  /** Maximum number of requests per second with all API keys of one tenant. Default: no limit. */
  readonly perTenant?: number;
  /** Size of a bucket in seconds. One burst may contain as many requests as are allowed in this time. Default: 2. */
  readonly burst?: number;
}

const BURST_S = 2;
const BYTES_PER_TOKEN = 1024 * 1024;
/**
 * Maximum number of buckets. The least recently used one is dropped, and its caller starts again with a full
 * bucket.
 */
const REMEMBERED = 20_000;
/**
 * Maximum delay in ms before a rejection is sent. The delay slows down clients that retry immediately, and it is
 * random, so that they do not retry together.
 */
const HOLD_MS = 1_000;
/** Maximum number of rejections that are delayed at the same time. Further rejections are sent without a delay. */
const MAX_HELD = 2_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Rate limiter with token buckets per API key, tenant and address, in the memory of one server. */
export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #held = 0;

  constructor(limits: RateLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Resolves if the request is within the limits, otherwise rejects with `rate_limited` after a delay. The
   * limits of the API key and its tenant apply or, without a key, the limit of the address.
   */
  async check(caller: Caller | null, address: string): Promise<void> {
    const wait = this.#wait(caller, address);
    if (wait === 0) return;
    if (this.#held < MAX_HELD) {
      this.#held++;
      await pause(HOLD_MS * (0.5 + Math.random() / 2));
      this.#held--;
    }
    throw new RelayError('rate_limited', { seconds: Math.ceil(wait) });
  }

  /**
   * Takes a token from each bucket and returns 0, or returns the seconds until an empty bucket has a token
   * again.
   */
  #wait(caller: Caller | null, address: string): number {
    let wait = 0;
    for (const [name, perSecond] of this.#bucketsOf(caller, address)) wait ||= this.take(name, perSecond);
    return wait;
  }

  /**
   * Charges the bytes that the relay read for a request: 1 MiB costs as much as one request. Only later
   * requests can be rejected because of it.
   */
  charge(caller: Caller | null, address: string, bytes: number): void {
    for (const [name, perSecond] of this.#bucketsOf(caller, address)) {
      if (Number.isFinite(perSecond)) this.#filled(name, perSecond).tokens -= bytes / BYTES_PER_TOKEN;
    }
  }

  #bucketsOf(caller: Caller | null, address: string): [name: string, perSecond: number][] {
    const { perKey, perAddress, perTenant = Number.POSITIVE_INFINITY } = this.#limits;
    if (caller === null || isAnonymous(caller)) return [[`a:${address}`, perAddress]];
    if (caller.keyId === LOCAL_CALLER.keyId) return [[`l:${address}`, perKey]];
    return [
      [`k:${caller.keyId}`, perKey],
      [`t:${caller.tenant}`, perTenant],
    ];
  }

  /** Takes a token from one bucket and returns 0, or returns the seconds until it has a token again. */
  take(name: string, perSecond: number): number {
    if (!Number.isFinite(perSecond)) return 0;
    const bucket = this.#filled(name, perSecond);
    if (bucket.tokens < 1) return (1 - bucket.tokens) / perSecond;
    bucket.tokens -= 1;
    return 0;
  }

  /** Returns the bucket, with the tokens added until now. */
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
