import { RelayError } from '../base/errors.ts';
import { pause } from '../base/pause.ts';

/** Attempts before giving up: with N writers at most N-1 rounds are lost, and 64 at once is plenty for one key. */
const ATTEMPTS = 64;

/**
 * Runs `attempt` until it gives something other than null (which means: lost the race, read again).
 * Waits a random moment between rounds so that racers spread out.
 */
export async function compareAndSet<T>(
  what: string,
  attempt: (round: number) => Promise<T | null>,
  random: () => number = Math.random,
): Promise<T> {
  for (let round = 0; round < ATTEMPTS; round++) {
    const result = await attempt(round);
    if (result !== null) return result;
    if (round > 0) await pause(random() * Math.min(50, 2 ** Math.min(round, 6)));
  }
  throw new RelayError('busy', { what: `${ATTEMPTS} attempts to change ${what} were overtaken by others` });
}
