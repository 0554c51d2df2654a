import type { DeadLetter } from './channels.ts';
import { verbs } from './verb.ts';

export const RUNGS = ['stored', 'notified', 'pulled', 'acked', 'dead', 'result'] as const;
export type Rung = (typeof RUNGS)[number];

/** One rung, with its evidence: who, when, how much. */
export interface Receipt {
  readonly rung: Rung;
  readonly by: string;
  /** ISO 8601, UTC; the first time, where there were several. */
  readonly at: string;
  readonly last_at?: string;
  /** How many subscribers answered, or how many times it was pulled. */
  readonly count?: number;
  /** Of those pulls, the retries that did not count against `max_pulls`. */
  readonly retries?: number;
  /** Bytes stored, or read out all in all. */
  readonly bytes?: number;
  /** Acknowledged in this group, or given up by it. */
  readonly group?: string;
  /** Of a dead letter: why, and after how many attempts. */
  readonly reason?: DeadLetter['reason'];
  readonly attempts?: number;
  /** The result, itself a pointer. */
  readonly url?: string;
  readonly status?: string;
  readonly summary?: string;
}

/**
 * The ladder of a pointer: stored → notified → pulled → acked → dead → result. A rung without evidence is not there; one
 * that is there may have more behind it, because receipts are written a moment later and never waited for.
 */
export interface ReceiptLadder {
  readonly id: string;
  /** The highest rung there is evidence for. */
  readonly reached: Rung;
  readonly receipts: readonly Receipt[];
}

const verb = verbs({ scope: 'pull', args: ['id'] });

export const receipts = {
  /** Only whoever owns the pointer is told. */
  get: verb<(id: string) => Promise<ReceiptLadder>>('receipts.get')({
    summary: 'Who was told of a pointer, pulled it, did it: as far as there is evidence',
    route: 'GET /pull/:id/receipts',
    channels: ({ channel }) => [channel],
  }),
};
