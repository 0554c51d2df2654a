import { RelayError } from '../base/errors.ts';
import { isTransient } from '../sdk/http-client.ts';

/** After a timeout or a temporary failure of the relay, no call is made for this many ms. */
const PAUSE_MS = 60_000;

/**
 * Limits the time that optional calls to the relay cost an agent. A call may take 5 s, including its retries. If the
 * relay does not answer in this time or fails temporarily, no call is made for a minute.
 */
export class Patience {
  /** Maximum time in ms that a call to the relay may delay an agent's step. Only tests change it. */
  static offloadMs = 5_000;
  #pausedUntil = 0;

  /**
   * Runs a call and returns its result. During a pause, makes no call and returns undefined. Throws the error of the
   * call, or `timeout` if the call takes too long.
   */
  async run<T>(call: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
    if (performance.now() < this.#pausedUntil) return undefined;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), Patience.offloadMs);
    try {
      return await call(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
    } catch (error) {
      if (signal?.aborted) throw error;
      if (late.signal.aborted || isTransient(error)) this.#pausedUntil = performance.now() + PAUSE_MS;
      throw late.signal.aborted
        ? new RelayError('timeout', {
            what: `the relay did not answer within ${Patience.offloadMs / 1000} s`,
          })
        : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
