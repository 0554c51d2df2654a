import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { uuid } from '../../base/ids.ts';
import { PIPELINE_HOLD_S } from '../../base/limits.ts';
import type { HoldAnswer, ThreadsApi } from '../../contract/threads.ts';
import type { ThreadsAs } from '../prompts/types.ts';

/** The process that runs pipelines. It can also tell whether other processes are alive. */
export interface Worker {
  /** Name that other processes see. It is unique among the running processes. */
  readonly name: string;
  /**
   * Returns whether the process with this name is alive. Returns null if this is unknown, for example because
   * it runs on another machine.
   */
  isAlive(name: string): boolean | null;
}

export type Held = NonNullable<HoldAnswer['hold']>;

export interface LeaseParts {
  readonly threads: ThreadsAs;
  readonly env: Env;
  readonly worker: Worker;
  /** Name of the project folder. Costs are recorded under it. */
  readonly project?: string;
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

export interface LeaseOptions {
  readonly signal: AbortSignal;
  /** True if the lease is taken from its holder, even if the holder is still alive. */
  readonly takeOver?: boolean;
  /** Called once if this process has to wait and cannot find out whether the holder of the lease is alive. */
  waiting?(held: Held): void;
}

/** Interval in ms at which a waiting process asks for the lease again. */
const POLL_MS = 500;
/**
 * Time in ms after a renewal of the lease in which writes do not check the lease. This saves requests when several
 * steps end together. But a process that has lost the lease may still write for up to this time.
 */
const CONFIRMED_MS = 1_000;
/** Interval in ms at which the holder renews its lease: a third of the lease's duration. */
const RENEW_MS = (PIPELINE_HOLD_S * 1000) / 3;

/**
 * A lease on a run, so that only one process works on the run. The holder renews the lease while it works. Another
 * process takes the lease without waiting if the holder is dead, and gives up if the holder is alive. If this is
 * unknown, the process waits until the lease expires, and gives up if the lease is renewed meanwhile.
 */
export class RunLease implements AsyncDisposable {
  readonly #parts: LeaseParts;
  readonly #run: string;
  readonly #token: string;
  readonly #threads: ThreadsApi;
  readonly #lost = new AbortController();
  /** Fires when another process has taken the run. */
  readonly lost = this.#lost.signal;
  /** Time in ms of the last successful renewal. */
  #renewedAt = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #renewal: Promise<void> | null = null;

  /** Id of the thread that the lease is on. */
  get thread(): string {
    return this.#run;
  }

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
      if (o.signal.aborted) throw new RelayError('aborted', { what: 'the wait for the run was canceled' });
      seen = held;
    }
    // Ignore a failed renewal, because the next interval tries again. A write also renews the lease, and
    // throws if this fails.
    lease.#timer = setInterval(() => void lease.#renew().catch(() => {}), RENEW_MS);
    return lease;
  }

  /** Returns the threads API with guarded writes: a write throws if another process has taken the run. */
  fence(threads: ThreadsAs): ThreadsAs {
    const confirm = () => this.confirm(CONFIRMED_MS);
    return withMethods(threads, (api) => ({
      patch: (...args) => confirm().then(() => api.patch(...args)),
      record: (...args) => confirm().then(() => api.record(...args)),
      putArtifact: (...args) => confirm().then(() => api.putArtifact(...args)),
    }));
  }

  /**
   * Throws if another process has taken the run. If the lease was confirmed less than `withinMs` ago, the
   * store is not asked again.
   */
  async confirm(withinMs = 0): Promise<void> {
    if (!this.lost.aborted && this.#parts.env.now() - this.#renewedAt >= withinMs) await this.#renew();
    this.lost.throwIfAborted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    // The work under the lease has ended, so ignore errors. First wait for a renewal that is under way: after
    // the release it could take the lease again. If the release fails, the lease expires by itself.
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

  /**
   * Requests the lease from the store. Returns null if this process got the lease, otherwise the lease of the other
   * process that holds it.
   */
  async #request(how: { renew?: boolean; instead_of?: string }): Promise<Held | null> {
    const requestedAt = this.#parts.env.now();
    const { granted, hold } = await this.#threads.hold(this.#run, {
      token: this.#token,
      holder: this.#parts.worker.name,
      ttl: PIPELINE_HOLD_S,
      ...how,
    });
    if (!granted) return hold ?? { holder: 'another process that has just ended', since: '', until: '' };
    this.#renewedAt = requestedAt;
    return null;
  }
}

/** Returns the threads API with some of its methods replaced. */
export function withMethods(
  threads: ThreadsAs,
  replaced: (api: ThreadsApi) => Partial<ThreadsApi>,
): ThreadsAs {
  return (who) => {
    const api = threads(who);
    return new Proxy(replaced(api), {
      get: (own, name) => Reflect.get(own, name) ?? Reflect.get(api, name, api)?.bind(api),
    }) as ThreadsApi;
  };
}
