import { USAGE_KEPT_MS, USAGE_WAITING, USAGE_WRITE_MS } from '../../base/limits.ts';
import type { UsageRow } from '../../contract/keys.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import { WriteBehind } from '../write-behind.ts';

type Figures = { readonly [operation: string]: readonly [count: number, bytes: number] };

/** Usage that one write added to the statistics. Used for billing. */
export interface Metered extends UsageRow {
  readonly tenant: string;
  /** Id of these figures. If the same figures are sent again, their id is the same. */
  readonly id: string;
}

const statsPrefix = (tenant: string) => `ten.${tenant}/stats/`;

/**
 * Number of operations and bytes by API key, operation and day. They are written behind: a crash loses the
 * last seconds.
 */
export class Statistics {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #records: RecordsOf<Figures>;
  readonly #behind: WriteBehind<Figures>;
  /** Called with the added usage after each write. */
  onWritten: ((rows: readonly Metered[]) => void) | null = null;

  constructor(deps: Pick<Deps, 'engine' | 'env'>) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
    this.#behind = new WriteBehind(deps.engine, {
      delayMs: USAGE_WRITE_MS,
      most: USAGE_WAITING,
      merge: added,
      write: (key, figures) => this.#write(key, figures),
    });
  }

  note(tenant: string, keyId: string, operation: string, bytes: number): void {
    // Day in UTC: `2026-11-05`.
    const day = new Date(this.#deps.env.now()).toISOString().slice(0, 10);
    this.#behind.note(`${statsPrefix(tenant)}${day}/${keyId}`, { [operation]: [1, bytes] });
  }

  /** Writes all waiting figures. Never rejects: failed writes are retried later. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  async rows(tenant: string, month: string): Promise<UsageRow[]> {
    const rows: UsageRow[] = [];
    const prefix = statsPrefix(tenant);
    for await (const { key, value } of allRecords(this.#records, prefix + month)) {
      const [day, id] = key.slice(prefix.length).split('/') as [string, string];
      for (const [operation, [count, bytes]] of Object.entries(value))
        rows.push({ day, key: id, operation, count, bytes });
    }
    return rows;
  }

  async #write(recordKey: string, figures: Figures): Promise<void> {
    const revision = await compareAndSet('the statistics', async () => {
      const stored = await this.#records.get(recordKey);
      const expiresAt = this.#deps.env.now() + USAGE_KEPT_MS;
      const sum = added(stored?.value ?? {}, figures);
      return this.#records.put(recordKey, sum, { expect: stored?.revision ?? 'absent', expiresAt });
    });
    const [, tenant, day, key] = /^ten\.(.+)\/stats\/(.+)\/(.+)$/.exec(recordKey)! as unknown as string[];
    const rows = Object.entries(figures).map(([operation, [count, bytes]]) => {
      const id = `${tenant}:${key}:${day}:${operation}:${revision}`;
      return { id, tenant: tenant!, day: day!, key: key!, operation, count, bytes };
    });
    this.onWritten?.(rows);
  }
}

function added(sum: Figures, more: Figures): Figures {
  const both = Object.entries(more).map(([operation, [count, bytes]]) => {
    const [had, hadBytes] = sum[operation] ?? [0, 0];
    return [operation, [had + count, hadBytes + bytes] as const];
  });
  return { ...sum, ...Object.fromEntries(both) };
}
