import { DEFAULT_TTL_MS, MAX_TTL_MS, PAYLOAD_BYTES } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Visibility } from '../../contract/pointers.ts';

/** What a caller may push. */
export interface Terms {
  /** By default, where the sender names none. */
  readonly visibility: Visibility;
  readonly ttlMs: number;
  readonly maxTtlMs: number;
  readonly payloadBytes: number;
}

/** Takes back that a push was counted. */
export type GiveBack = () => Promise<void>;

/** Whether, how much and for how long a caller may push. */
export interface Allowance {
  terms(caller: Caller): Terms | Promise<Terms>;
  /** Counts a push before it is committed. Rejects with `over_quota`. */
  reserve(caller: Caller): Promise<GiveBack>;
  /** For the statistics: `caller` moved so many bytes of a pointer of the tenant `owner`. */
  note(caller: Caller, operation: 'push' | 'pull', bytes: number, owner: string): void;
}

/** For a relay without keys: the same for everybody, and nothing is counted. */
export const OPEN_ALLOWANCE: Allowance = {
  terms: () => ({
    visibility: 'link',
    ttlMs: DEFAULT_TTL_MS,
    maxTtlMs: MAX_TTL_MS,
    payloadBytes: PAYLOAD_BYTES,
  }),
  reserve: async () => async () => {},
  note: () => {},
};

/** If giving back fails, the count stays one too high; it is never too low. */
export async function giveBack(counting: Promise<GiveBack | null>): Promise<void> {
  await counting.then((undo) => undo?.()).catch(() => {});
}
