import { USAGE_KEPT_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { UsageRow } from '../../contract/keys.ts';
import type { Deps } from '../deps.ts';
import { SumRecords, type Sums } from '../write-behind.ts';

/** Usage that one write has added to the statistics, for billing. */
export interface Metered extends UsageRow {
  readonly tenant: string;
  /** Id of these figures. Figures that are sent again have the same id, so that they are not billed twice. */
  readonly id: string;
}

const statsPrefix = (tenant: string) => `ten.${tenant}/stats/`;

/** Counts operations and their bytes by API key, operation and day. There is one record per key and day. */
export class Statistics {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #sums: SumRecords;
  /** Called after each write with the usage that it added. */
  onWritten: ((rows: readonly Metered[]) => void) | null = null;

  constructor(deps: Pick<Deps, 'engine' | 'env'>) {
    this.#deps = deps;
    this.#sums = new SumRecords(deps, {
      keptMs: USAGE_KEPT_MS,
      written: (key, added, revision) => this.onWritten?.(meteredRows(key, added, revision)),
    });
  }

  /**
   * Adds an operation to the figures of the caller's API key. Without an API key, adds it to the figures of
   * the tenant that owns the data.
   */
  note(caller: Caller, operation: string, bytes: number, owner: string): void {
    const { tenant, keyId } = caller.tenant === '' ? { tenant: owner, keyId: 'link' } : caller;
    // Day in UTC: `2026-11-05`.
    const day = new Date(this.#deps.env.now()).toISOString().slice(0, 10);
    this.#sums.add(`${statsPrefix(tenant)}${day}/${keyId}`, { [operation]: [1, bytes] });
  }

  flush(): Promise<void> {
    return this.#sums.flush();
  }

  async rows(tenant: string, month: string): Promise<UsageRow[]> {
    const rows: UsageRow[] = [];
    const prefix = statsPrefix(tenant);
    for await (const { key, value } of this.#sums.all(prefix + month)) {
      const [day, id] = key.slice(prefix.length).split('/') as [string, string];
      for (const [operation, [count = 0, bytes = 0]] of Object.entries(value))
        rows.push({ day, key: id, operation, count, bytes });
    }
    return rows;
  }
}

function meteredRows(recordKey: string, added: Sums, revision: number): Metered[] {
  const [, tenant = '', day = '', key = ''] = /^ten\.(.+)\/stats\/(.+)\/(.+)$/.exec(recordKey)!;
  return Object.entries(added).map(([operation, [count = 0, bytes = 0]]) => {
    const id = `${tenant}:${key}:${day}:${operation}:${revision}`;
    return { id, tenant, day, key, operation, count, bytes };
  });
}
