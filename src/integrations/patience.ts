import { RelayError } from '../base/errors.ts';
import { isTransient } from '../sdk/http-client.ts';

/** Longest time that offloading delays a step of an agent. */
const OFFLOAD_MS = 5_000;
/** Time without attempts after the relay did not answer. */
const PAUSE_MS = 60_000;

/**
 * Makes calls on the side of an agent's work. Each has 5 s in total. If the relay does not answer in time, no call is
 * made for a minute, so that a relay that hangs does not stall the agent.
 */
export class Patience {
  #pausedUntil = 0;

  /**
   * Runs a call. Returns undefined without running it during a pause. Throws the error of the call, or the reason if
   * the caller's signal aborts.
   */
  async run<T>(call: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
    if (performance.now() < this.#pausedUntil) return undefined;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), OFFLOAD_MS);
    try {
      return await call(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
    } catch (error) {
      if (signal?.aborted) throw error;
      if (late.signal.aborted || isTransient(error)) this.#pausedUntil = performance.now() + PAUSE_MS;
      throw late.signal.aborted
        ? new RelayError('timeout', { what: `the relay did not answer within ${OFFLOAD_MS / 1000} s` })
        : error;
    } finally {
      clearTimeout(timer);
    }
  }
}
