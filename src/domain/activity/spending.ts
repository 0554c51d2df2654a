import type { Env } from '../../base/env.ts';
import { FIGURES_KEPT_MS } from '../../base/limits.ts';
import type { SpendingRow } from '../../contract/activity.ts';
import type { Engine } from '../../kernel/engine.ts';
import { SumRecords } from '../write-behind.ts';

interface Store {
  readonly engine: Engine;
  readonly env: Pick<Env, 'now'>;
}

/** The figures of a row, in the order in which they are stored. */
const FIGURES = [
  'prompts',
  'input_tokens',
  'cached_input_tokens',
  'output_tokens',
  'pasted_tokens',
  'shown_tokens',
] as const satisfies readonly (keyof SpendingRow)[];

const prefixOf = (tenant: string) => `ten.${tenant}/spending/`;
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Tokens of prompts by day, thread, agent, model and project: one record per thread and day. */
export class Spending {
  readonly #deps: Store;
  readonly #sums: SumRecords;

  constructor(deps: Store) {
    this.#deps = deps;
    this.#sums = new SumRecords(deps, { keptMs: FIGURES_KEPT_MS });
  }

  note(tenant: string, { thread, agent, model, project, ...figures }: Omit<SpendingRow, 'day'>): void {
    const key = `${prefixOf(tenant)}${dayOf(this.#deps.env.now())}/${thread}`;
    this.#sums.add(key, {
      [JSON.stringify([agent, model, project])]: FIGURES.map((name) => figures[name]),
    });
  }

  flush(): Promise<void> {
    return this.#sums.flush();
  }

  /** Returns the figures of the last `days` days, the oldest day first. */
  async rows(tenant: string, days: number): Promise<SpendingRow[]> {
    await this.flush();
    const prefix = prefixOf(tenant);
    const after = prefix + dayOf(this.#deps.env.now() - (days - 1) * 86_400_000);
    const rows: SpendingRow[] = [];
    for await (const { key, value } of this.#sums.all(prefix, { after })) {
      const [day, thread] = key.slice(prefix.length).split('/') as [string, string];
      for (const [names, figures] of Object.entries(value)) {
        const [agent, model, project = ''] = JSON.parse(names) as [string, string, string?];
        const named = Object.fromEntries(FIGURES.map((name, at) => [name, figures[at] ?? 0]));
        rows.push({ day, thread, agent, model, project, ...named } as SpendingRow);
      }
    }
    return rows;
  }
}
