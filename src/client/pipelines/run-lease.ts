import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { uuid } from '../../base/ids.ts';
import { PIPELINE_HOLD_S } from '../../base/limits.ts';
import type { HoldAnswer, ThreadsApi } from '../../contract/threads.ts';
import type { ThreadsAs } from '../prompts/types.ts';

/** The process that runs pipelines, and what it knows about others. */
export interface Worker {
  /** Name that others see; unique among running workers. */
  readonly name: string;
  /** Returns whether another worker is alive; null if that cannot be checked from here. */
  isAlive(name: string): boolean | null;
}

export type Held = NonNullable<HoldAnswer['hold']>;

export interface LeaseParts {
  readonly threads: ThreadsAs;
  readonly env: Env;
  readonly worker: Worker;
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

export interface LeaseOptions {
  readonly signal: AbortSignal;
  /** Do not wait for a holder that is still alive. */
  readonly takeOver?: boolean;
  /** Called when it must wait for a holder that may be dead. */
  waiting?(held: Held): void;
}

/** Interval at which another worker's lease is checked. */
const POLL_MS = 500;
/**
 * How long a confirmed lease needs no new confirmation. Steps that end together ask the store once, and a process that
 * lost the run writes for at most this long.
 */
const CONFIRMED_MS = 1_000;
/** Methods of threads that write to a run. */
const WRITES: ReadonlySet<string | symbol> = new Set(['patch', 'record', 'putArtifact']);
/** The holder renews its lease after a third of its duration. */
const RENEW_MS = (PIPELINE_HOLD_S * 1000) / 3;

/**
 * A process's lease on a run, renewed while it works. A process that finds a run leased waits until the lease expires;
 * if it is renewed meanwhile, the holder is alive.
 */
export class RunLease implements AsyncDisposable {
  readonly #parts: LeaseParts;
  readonly #run: string;
  readonly #token: string;
  readonly #threads: ThreadsApi;
  readonly #lost = new AbortController();
  /** Fires when another process has taken the run. */
  readonly lost = this.#lost.signal;
  /** Time of the last successful renewal. */
  #renewedAt = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #renewal: Promise<void> | null = null;

  private constructor(parts: LeaseParts, run: string) {
    this.#parts = parts;
    this.#run = run;
    this.#token = uuid(parts.env);
    this.#threads = parts.threads('pipeline');
  }

  static async take(parts: LeaseParts, run: string, o: LeaseOptions): Promise<RunLease> {
    const lease = new RunLease(parts, run);
    let seen: Held | null = null;
    let instead: string | undefined;
    for (;;) {
      const held = await lease.#request(instead === undefined ? {} : { instead_of: instead });
      if (held === null) break;
      const renewed = seen !== null && (seen.holder !== held.holder || seen.until !== held.until);
      const alive = parts.worker.isAlive(held.holder);
      if (renewed || (alive === true && !o.takeOver)) throw new RelayError('run_held', { run, ...held });
      if (seen === null && !o.takeOver && alive === null) o.waiting?.(held);
      if (o.takeOver || alive === false) instead = held.holder;
      else await parts.pause(POLL_MS, o.signal);
      if (o.signal.aborted) throw new RelayError('aborted', { what: 'waiting for the run' });
      seen = held;
    }
    // A failed renewal is retried at the next interval, and before the next write, which fails with it.
    lease.#timer = setInterval(() => void lease.#renew().catch(() => {}), RENEW_MS);
    return lease;
  }

  /** Returns the threads with writes blocked once another process has taken the run. */
  fence(threads: ThreadsAs): ThreadsAs {
    const get = (api: ThreadsApi, name: string | symbol) => {
      const method = Reflect.get(api, name, api);
      if (typeof method !== 'function') return method;
      if (!WRITES.has(name)) return method.bind(api);
      return async (...args: unknown[]) => {
        await this.confirm(CONFIRMED_MS);
        return method.apply(api, args);
      };
    };
    return (who) => new Proxy(threads(who), { get });
  }

  /** Throws if another process has taken the run. A confirmation up to `withinMs` old is accepted. */
  async confirm(withinMs = 0): Promise<void> {
    if (!this.lost.aborted && this.#parts.env.now() - this.#renewedAt >= withinMs) await this.#renew();
    this.lost.throwIfAborted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    // The run has ended, so only wait for the renewal to finish. A lease that cannot be released expires.
    await this.#renewal?.catch(() => {});
    await this.#threads.release(this.#run, { token: this.#token }).catch(() => {});
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#request({ renew: true })
      .then((held) => {
        if (held === null) return;
        clearInterval(this.#timer);
        this.#lost.abort(new RelayError('run_taken', { run: this.#run, holder: held.holder }));
      })
      .finally(() => {
        this.#renewal = null;
      });
    return this.#renewal;
  }

  /** Returns null if the lease is ours now. */
  async #request(how: { renew?: boolean; instead_of?: string }): Promise<Held | null> {
    const asked = this.#parts.env.now();
    const { granted, hold } = await this.#threads.hold(this.#run, {
      token: this.#token,
      holder: this.#parts.worker.name,
      ttl: PIPELINE_HOLD_S,
      ...how,
    });
    if (!granted) return hold ?? { holder: 'another process that has just ended', since: '', until: '' };
    this.#renewedAt = asked;
    return null;
  }
}
