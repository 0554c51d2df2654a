import { RelayError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import { pause } from '../base/pause.ts';

/** Value and revision of a record. */
export interface Stored<T extends Json = Json> {
  readonly value: T;
  /** Revision number. Increases with every write of the key, even after a delete, and may have gaps. */
  readonly revision: number;
}

export interface RecordItem extends Stored {
  readonly key: string;
}

export interface RecordPage {
  readonly items: RecordItem[];
  /** Pass as `after` to read the next page. Absent on the last page. */
  readonly next?: string;
}

export interface PutOptions {
  /** Revision that the record must have, or `absent` if it must not exist. */
  readonly expect?: 'absent' | number;
  readonly expiresAt?: number;
  /** Staged writes that become durable together with this record. */
  readonly with?: readonly Staged[];
  /**
   * Log entry that announces the record. It is written in the same commit if the engine supports that, otherwise
   * right after the record.
   */
  readonly append?: AnnouncingEntry;
  /** True if the write is part of a deletion. Even a full store accepts it. */
  readonly frees?: boolean;
}

/**
 * Log entry that announces a record. A crash can leave the record without its entry; the caller then repeats the
 * write, which appends the entry. The id prevents a duplicate. A write that is never repeated needs no id.
 */
export interface AnnouncingEntry {
  readonly stream: string;
  readonly data: Json;
  readonly id?: string;
}

export interface AddOptions {
  /** Largest value that the counter may reach. */
  readonly max?: number;
  /** Expiry of the counter if this call creates it. An existing counter keeps its expiry. */
  readonly expiresAt?: number;
  /** True if the write is part of a deletion. Even a full store accepts it. */
  readonly frees?: boolean;
}

/**
 * Port for small JSON documents with a revision. Writes are linearizable per key: of several concurrent writers only
 * one succeeds.
 */
export interface Records {
  /**
   * Returns the record; null if it does not exist or has expired. The value may be frozen and shared with
   * other callers, so the caller must not modify it.
   */
  get(key: string): Promise<Stored | null>;
  /**
   * Writes the record and returns its new revision. Returns null if `expect` does not hold. An expired record
   * counts as absent.
   */
  put(key: string, value: Json, o?: PutOptions): Promise<number | null>;
  /**
   * Like `put` without conditions, but the record becomes durable together with the write that lists it in `with`.
   */
  stage(key: string, value: Json): Promise<Staged>;
  /**
   * Adds `delta`, which may be negative, to a counter and returns the new value. An absent counter starts at
   * 0. Returns null and changes nothing if the new value would be above `max` or below 0. A counter is a
   * record whose value is the number.
   */
  add(key: string, delta: number, o?: AddOptions): Promise<number | null>;
  /** Deletes the record and returns true. Returns false if it does not exist or `expect` does not hold. */
  delete(key: string, o?: { expect?: number }): Promise<boolean>;
  /**
   * Lists the records whose keys start with the prefix, in key order. The prefix must contain the first segment and
   * its slash: `ten.acme/`. `contains` is a hint: the engine may omit records whose JSON does not contain this text,
   * so a page may be short or empty although it has `next`. The caller must filter the records again.
   */
  list(prefix: string, o?: { after?: string; limit?: number; contains?: string }): Promise<RecordPage>;
}

/**
 * A prepared write. It becomes durable together with another write, the commit point, which lists it in `with`. Before
 * that, readers may or may not see it. If the commit point fails or is never written, the prepared write is an orphan,
 * which the caller or a sweep deletes. An engine with transactions commits all prepared writes together with one fsync.
 * An engine without transactions writes each of them immediately, before the commit point.
 */
export interface Staged {
  readonly key: string;
}

/**
 * Maximum number of attempts before `compareAndSet` throws `busy`. The number is high because writers in
 * other processes may win many rounds in a row.
 */
const ATTEMPTS = 512;

/**
 * Runs `attempt` until it returns something other than null. Null means that another writer changed the data first,
 * so `attempt` must read it again. Waits a random time between rounds, so that competing writers spread out.
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
  throw new RelayError('busy', {
    what: `${ATTEMPTS} attempts to change ${what} failed, because other writers were faster`,
  });
}
