import type { Env } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { uuid } from '../../base/ids.ts';
import { PIPELINE_HOLD_S } from '../../base/limits.ts';
import type { HoldAnswer, ThreadsApi } from '../../contract/threads.ts';
import type { ThreadsAs } from '../prompts/types.ts';

/** Whoever runs pipelines here, and what can be said of others who do. */
export interface Worker {
  /** Shown to others. No two workers have the same name at the same time. */
  readonly name: string;
  /** Whether another one lives; null where that cannot be seen from here. */
  lives(name: string): boolean | null;
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
  /** Do not wait for a holder who is still there. */
  readonly takeOver?: boolean;
  /** Called when it has to wait for a holder that may be dead. */
  waiting?(held: Held): void;
}

/** How long to wait between two looks at somebody else's lease. */
const LOOK_MS = 500;
/**
 * How long a confirmed lease is taken for granted. Steps that end together ask the store once, and whoever lost the run
 * goes on writing for no longer than this.
 */
const BELIEVED_MS = 1_000;
/** The methods of threads with which a run is written down. */
const WRITES: ReadonlySet<string | symbol> = new Set(['patch', 'record', 'putArtifact']);
/** The holder renews its lease every third of the time for which it is given. */
const RENEW_MS = (PIPELINE_HOLD_S * 1000) / 3;

/**
 * The lease that a process has on the run it works on, renewed as long as it runs. Whoever finds a run leased waits until
 * the lease lapses; if it is renewed meanwhile, the holder lives.
 */
export class RunLease implements AsyncDisposable {
  readonly #parts: LeaseParts;
  readonly #run: string;
  readonly #token: string;
  readonly #threads: ThreadsApi;
  readonly #lost = new AbortController();
  /** Fires when somebody else has taken the run. */
  readonly lost = this.#lost.signal;
  /** When it was last asked for with success. */
  #heard = 0;
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
      const held = await lease.#ask(instead === undefined ? {} : { instead_of: instead });
      if (held === null) break;
      const renewed = seen !== null && (seen.holder !== held.holder || seen.until !== held.until);
      const lives = parts.worker.lives(held.holder);
      if (renewed || (lives === true && !o.takeOver)) throw new RelayError('run_held', { run, ...held });
      if (seen === null && !o.takeOver && lives === null) o.waiting?.(held);
      if (o.takeOver || lives === false) instead = held.holder;
      else await parts.pause(LOOK_MS, o.signal);
      if (o.signal.aborted) throw new RelayError('aborted', { what: 'waiting for the run' });
      seen = held;
    }
    // A renewal that fails is tried again at the next beat, and before the next write, which fails with it.
    lease.#timer = setInterval(() => void lease.#renew().catch(() => {}), RENEW_MS);
    return lease;
  }

  /** The threads as before, but that nothing is written to them for a run that is somebody else's by now. */
  fence(threads: ThreadsAs): ThreadsAs {
    const get = (api: ThreadsApi, name: string | symbol) => {
      const method = Reflect.get(api, name, api);
      if (typeof method !== 'function') return method;
      if (!WRITES.has(name)) return method.bind(api);
      return async (...args: unknown[]) => {
        await this.confirm(BELIEVED_MS);
        return method.apply(api, args);
      };
    };
    return (who) => new Proxy(threads(who), { get });
  }

  /** Throws where the run is somebody else's by now. What was heard of the store `withinMs` ago is believed. */
  async confirm(withinMs = 0): Promise<void> {
    if (!this.lost.aborted && this.#parts.env.now() - this.#heard >= withinMs) await this.#renew();
    this.lost.throwIfAborted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    // The run has ended: only that nothing is under way matters. A lease that cannot be released lapses.
    await this.#renewal?.catch(() => {});
    await this.#threads.release(this.#run, { token: this.#token }).catch(() => {});
  }

  #renew(): Promise<void> {
    this.#renewal ??= this.#ask({ renew: true })
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

  /** Null where it is ours now. */
  async #ask(how: { renew?: boolean; instead_of?: string }): Promise<Held | null> {
    const asked = this.#parts.env.now();
    const { granted, hold } = await this.#threads.hold(this.#run, {
      token: this.#token,
      holder: this.#parts.worker.name,
      ttl: PIPELINE_HOLD_S,
      ...how,
    });
    if (!granted) return hold ?? { holder: 'somebody who is done with it', since: '', until: '' };
    this.#heard = asked;
    return null;
  }
}
