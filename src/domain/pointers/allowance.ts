import { DEFAULT_TTL_MS, MAX_TTL_MS, PAYLOAD_BYTES } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Visibility } from '../../contract/pointers.ts';

/** What a caller may push. */
export interface Terms {
  /** Where the sender says nothing. */
  readonly visibility: Visibility;
  readonly ttlMs: number;
  readonly maxTtlMs: number;
  readonly payloadBytes: number;
}

/** One push that counts, unless it is given back. */
export interface Reservation {
  giveBack(): Promise<void>;
}

/** Whether, how much and for how long a caller may push. */
export interface Allowance {
  terms(caller: Caller): Terms | Promise<Terms>;
  /** Counts a push before it is committed. Rejects with `over_quota`. */
  reserve(caller: Caller): Promise<Reservation>;
  /** For the statistics: who moved how much of whose. */
  note(caller: Caller, operation: 'push' | 'pull', bytes: number, owner: string): void;
}

export const OPEN_TERMS: Terms = {
  visibility: 'link',
  ttlMs: DEFAULT_TTL_MS,
  maxTtlMs: MAX_TTL_MS,
  payloadBytes: PAYLOAD_BYTES,
};

const FREE: Reservation = { giveBack: async () => {} };

/** Where there are no keys there is nothing to count. */
export const OPEN_ALLOWANCE: Allowance = {
  terms: () => OPEN_TERMS,
  reserve: async () => FREE,
  note: () => {},
};

/** A count that cannot be given back stays: one too many, never one too few. */
export async function giveBack(counting: Promise<Reservation | null>): Promise<void> {
  await counting.then((counted) => counted?.giveBack()).catch(() => {});
}
