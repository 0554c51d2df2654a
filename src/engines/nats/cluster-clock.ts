import type { Env } from '../../base/env.ts';

/** A clock that is off by more than this is told to whoever runs the server. */
export const CLOCK_OFF_MS = 5_000;

/**
 * The time of the cluster: the machine's, moved by as much as the leader's stamps differ from it, and never going back. All
 * servers of a store go by it, so that leases and expiry mean the same on each.
 */
export class ClusterClock implements Env {
  readonly randomBytes: Env['randomBytes'];
  readonly #env: Env;
  #offset: number | null = null;
  #last = 0;

  constructor(env: Env) {
    this.#env = env;
    this.randomBytes = env.randomBytes;
  }

  now(): number {
    this.#last = Math.max(this.#last, Math.round(this.#env.now() + (this.#offset ?? 0)));
    return this.#last;
  }

  /** By how much the machine's clock differs from the cluster's; positive where it is behind. */
  get offMs(): number {
    return this.#offset ?? 0;
  }

  /** To be called when the leader is asked something; what is given takes the stamp of its answer. */
  asking(): (stamp: string | undefined) => void {
    const sentAt = this.#env.now();
    return (stamp) => {
      if (stamp !== undefined) this.#heard(stamp, sentAt, this.#env.now());
    };
  }

  /** What the leader's clock said somewhere between two moments of ours. */
  #heard(stamp: string, sentAt: number, heardAt: number): void {
    const there = Date.parse(stamp);
    if (Number.isNaN(there)) return;
    const measured = there - (sentAt + heardAt) / 2;
    const doubt = (heardAt - sentAt) / 2;
    // Within the time that the answer took nothing can be told.
    if (this.#offset === null || Math.abs(measured - this.#offset) > doubt)
      this.#offset = Math.abs(measured) <= doubt ? 0 : measured;
  }
}
