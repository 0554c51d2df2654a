import { USAGE_KEPT_MS, USAGE_WAITING, USAGE_WRITE_MS } from '../../base/limits.ts';
import type { UsageRow } from '../../contract/keys.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';

type Figures = { [operation: string]: [count: number, bytes: number] };

/** What waits to be written of one key on one day. */
interface Waiting extends Pick<Metered, 'tenant' | 'day' | 'key'> {
  readonly figures: Figures;
}

/** What one flush added to the books, for whoever bills. */
export interface Metered extends UsageRow {
  readonly tenant: string;
  /** Stays the same when the same figures are sent again. */
  readonly id: string;
}

const statsPrefix = (tenant: string) => `ten.${tenant}/stats/`;

/** How often and how much, by key, operation and day. Written behind: a crash loses some seconds of it. */
export class Statistics {
  readonly #deps: Pick<Deps, 'engine' | 'env'>;
  readonly #records: RecordsOf<Figures>;
  /** By the key of the record. */
  #waiting = new Map<string, Waiting>();
  #isDue = false;
  #writing: Promise<void> = Promise.resolve();
  /** Called with what was written, after it was. */
  onWritten: ((rows: readonly Metered[]) => void) | null = null;

  constructor(deps: Pick<Deps, 'engine' | 'env'>) {
    this.#deps = deps;
    this.#records = recordsOf(deps.engine.records);
  }

  note(tenant: string, keyId: string, operation: string, bytes: number): void {
    // In UTC: `2026-11-05`.
    const day = new Date(this.#deps.env.now()).toISOString().slice(0, 10);
    const key = `${statsPrefix(tenant)}${day}/${keyId}`;
    let entry = this.#waiting.get(key);
    if (!entry) {
      if (this.#waiting.size >= USAGE_WAITING) return;
      entry = { tenant, day, key: keyId, figures: {} };
      this.#waiting.set(key, entry);
    }
    add(entry.figures, { [operation]: [1, bytes] });
    this.#schedule();
  }

  /** Writes what waits. Never rejects: what cannot be written waits on. */
  flush(): Promise<void> {
    this.#isDue = false;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async rows(tenant: string, month: string): Promise<UsageRow[]> {
    const rows: UsageRow[] = [];
    const prefix = statsPrefix(tenant);
    for await (const { key, value } of allRecords(this.#records, prefix + month)) {
      const [day, id] = key.slice(prefix.length).split('/') as [string, string];
      for (const [operation, [count, bytes]] of Object.entries(value)) {
        rows.push({ day, key: id, operation, count, bytes });
      }
    }
    return rows;
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#deps.engine.defer(() => this.flush(), USAGE_WRITE_MS);
  }

  async #write(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    const written: Metered[] = [];
    for (const [key, entry] of waiting) {
      const { figures, ...of } = entry;
      const revision = await this.#add(key, figures).catch(() => null);
      if (revision === null) {
        add(figures, this.#waiting.get(key)?.figures ?? {});
        this.#waiting.set(key, entry);
        this.#schedule();
        continue;
      }
      for (const [operation, [count, bytes]] of Object.entries(figures)) {
        const id = `${of.tenant}:${of.key}:${of.day}:${operation}:${revision}`;
        written.push({ id, ...of, operation, count, bytes });
      }
    }
    if (written.length > 0) this.onWritten?.(written);
  }

  #add(key: string, figures: Figures): Promise<number> {
    return compareAndSet('the statistics', async () => {
      const stored = await this.#records.get(key);
      const sum: Figures = { ...stored?.value };
      add(sum, figures);
      const expiresAt = this.#deps.env.now() + USAGE_KEPT_MS;
      return this.#records.put(key, sum, { expect: stored?.revision ?? 'absent', expiresAt });
    });
  }
}

function add(sum: Figures, figures: Figures): void {
  for (const [operation, [count, bytes]] of Object.entries(figures)) {
    const [had, hadBytes] = sum[operation] ?? [0, 0];
    sum[operation] = [had + count, hadBytes + bytes];
  }
}
