import { verbs } from './verb.ts';

/** Field names are those on the wire, so that local and remote are one type. */

export interface UsageQuery {
  /** `2026-11`; the current month by default. */
  readonly month?: string;
  /** The caller's own by default; another only by an admin of the relay. */
  readonly tenant?: string;
}

export interface Meter {
  readonly used: number;
  /** Null: as many as one likes. */
  readonly limit: number | null;
}

export interface UsageRow {
  /** In UTC. */
  readonly day: string;
  /** The key's id. */
  readonly key: string;
  readonly operation: string;
  readonly count: number;
  /** Of payloads, in or out. */
  readonly bytes: number;
}

export interface UsageReport {
  readonly tenant: string;
  readonly plan: string;
  readonly month: string;
  /** When the counts begin anew. */
  readonly reset: string;
  readonly pushes: Meter;
  /** Told, never enforced. */
  readonly pulls: Meter;
  /** Bytes that threads, files and the messages of channels take up now, whichever the month. */
  readonly storage: Meter;
  /** All keys for an admin, the own key for anyone else. May be some seconds behind. */
  readonly rows: readonly UsageRow[];
}

const verb = verbs({ scope: 'push', args: [] });

export const usage = {
  get: verb<(o?: UsageQuery) => Promise<UsageReport>, 'input'>('usage.get')({
    summary: 'What was used in a month, by key, operation and day; CSV with format=csv',
    route: 'GET /usage',
    byHand: 'server',
  }),
};
