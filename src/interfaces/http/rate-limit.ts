import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import { type Caller, isAnonymous, LOCAL_CALLER } from '../../contract/caller.ts';

export interface RateLimits {
  /** Requests a second of one key, and of one address that sends none. */
  readonly perKey: number;
  readonly perAddress: number;
  /** Of all keys of one tenant together; no limit by default. */
  readonly perTenant?: number;
  /** So many seconds' worth may come at once; 2 by default. */
  readonly burst?: number;
}

const BURST_S = 2;
const BYTES_PER_TOKEN = 1024 * 1024;
/** Keys, tenants and addresses remembered; the least recent are forgotten first, and begin with a full bucket again. */
const REMEMBERED = 20_000;
/**
 * A refusal is sent after a pause, no longer than the client is told to wait: a client that sends as fast as it is answered
 * then takes no time away from others. The pauses differ, so that clients that were refused together do not return
 * together. Only so many requests wait; beyond that they are refused at once.
 */
const HOLD_MS = 1_000;
const HELD = 2_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Holds back who asks too often. */
export interface Limiter {
  /** Resolves at once, or rejects with `rate_limited` after a moment. A key counts with its tenant, whatever else its address does. */
  check(caller: Caller | null, address: string): Promise<void>;
  /**
   * Counts what a request had the relay read, once that is known: a MiB as much as a request. The caller waits for it with the
   * next request.
   */
  charge(caller: Caller | null, address: string, bytes: number): void;
}

/** A token bucket for each key, tenant and address, in the memory of one server: it protects that server. */
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
    if (this.#held < HELD) {
      this.#held++;
      await pause(HOLD_MS * (0.5 + Math.random() / 2));
      this.#held--;
    }
    throw new RelayError('rate_limited', { seconds: Math.ceil(wait) });
  }

  /** Takes a token of each bucket, or tells how many seconds it takes until there is one. */
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

  /** Seconds until there is room; 0 where there was. */
  take(name: string, perSecond: number): number {
    if (!Number.isFinite(perSecond)) return 0;
    const bucket = this.#filled(name, perSecond);
    if (bucket.tokens < 1) return (1 - bucket.tokens) / perSecond;
    bucket.tokens -= 1;
    return 0;
  }

  /** The bucket as it is by now. */
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
