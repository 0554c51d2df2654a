import { RelayError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { pause } from '../base/pause.ts';

export interface Stored<T extends Json = Json> {
  readonly value: T;
  /** Grows with every write of the key, also across a delete; need not be gapless. */
  readonly revision: number;
}

export interface RecordItem extends Stored {
  readonly key: string;
}

export interface RecordPage {
  readonly items: RecordItem[];
  /** Pass as `after` to go on; absent at the end. */
  readonly next?: string;
}

export interface PutOptions {
  /** The revision it must have now, or `absent`. */
  readonly expect?: 'absent' | number;
  readonly expiresAt?: number;
  /** What comes to last with it. */
  readonly with?: readonly Staged[];
  /** An entry that tells of it: written in the same commit where the engine has one for both, else right behind it, never without it. */
  readonly append?: AnnouncingEntry;
  /** It belongs to a deletion: a store without room for new data still takes it. */
  readonly frees?: boolean;
}

/**
 * Whoever repeats the write and finds the record without it, because a crash came between both, appends it again: its id keeps it from
 * being there twice. A write that nobody repeats needs none.
 */
export interface AnnouncingEntry {
  readonly stream: string;
  readonly data: Json;
  readonly id?: string;
}

export interface AddOptions {
  readonly max?: number;
  /** Counts where the counter is made. */
  readonly expiresAt?: number;
  /** It belongs to a deletion: a store without room for new data still takes it. */
  readonly frees?: boolean;
}

/** Small JSON documents with a revision. Every write is linearizable per key: of N racing writers one wins. */
export interface Records {
  /** The value may be given to others too, and then is frozen: whoever wants to change it makes another. */
  get(key: string): Promise<Stored | null>;
  /** The new revision, or null when `expect` did not hold. An expired record counts as absent. */
  put(key: string, value: Json, o?: PutOptions): Promise<number | null>;
  /** A put without conditions that lasts with the write that names it. */
  stage(key: string, value: Json): Promise<Staged>;
  /**
   * Adds to a counter (absent is 0) and gives its new value, or null when that would pass `max` or fall below 0, and then
   * nothing changed. A negative delta gives back. Its value is a record.
   */
  add(key: string, delta: number, o?: AddOptions): Promise<number | null>;
  /** Whether something was deleted; false when it was not there or `expect` did not hold. */
  delete(key: string, o?: { expect?: number }): Promise<boolean>;
  /** In key order. The prefix holds the whole first segment, with its slash: `ten.acme/…`. */
  list(prefix: string, o?: { after?: string; limit?: number }): Promise<RecordPage>;
}

/**
 * A write that is to last with another one, the commit point of what its maker does, which names it in `with`. Until then it may
 * be there or not, as the engine sees fit; once the commit point is acknowledged it is there for good. Where the commit point is
 * not written, because what it expects does not hold, or never comes, it is an orphan: its maker deletes it, or a sweep does.
 * An engine with transactions keeps it back and waits for its disk once for all of them. One without writes it at once.
 */
export interface Staged {
  readonly key: string;
}

/** Attempts before giving up. Writers in other processes may win many rounds in a row, and a write without a condition must get in all the same. */
const ATTEMPTS = 512;

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
