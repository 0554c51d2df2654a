import { useMemo } from 'preact/hooks';
import { count } from '../../../src/base/format.ts';
import type { SpendingReport, SpendingRow } from '../../../src/contract/activity.ts';
import { to } from '../../frame/router.ts';
import { Chart } from '../../parts/chart.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { readParams, SelectFilter, ValueFilter } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { Figure, PageHead } from '../../parts/page-head.tsx';
import { type Column, linkColumn, Table } from '../../parts/table.tsx';
import { useAsked } from '../../session/asking.ts';
import { OutputSavings } from '../overview/output-savings.tsx';
import { useNames } from '../overview/use-names.ts';

const RANGES = { '1': 'today', '7': 'last 7 days', '30': 'last 30 days' };
const GROUPS = { agent: 'agent', model: 'model', project: 'project', thread: 'thread', day: 'day' } as const;
type Group = keyof typeof GROUPS;

const CSV_NAMES = (
  'day thread agent model project prompts input_tokens cached_input_tokens ' +
  'output_tokens pasted_tokens shown_tokens'
).split(' ') as (keyof SpendingRow)[];

/** Sums of several rows. `cost` is null if the price of every model in these rows is unknown. */
interface Sum extends Omit<SpendingRow, 'day' | 'thread' | 'agent' | 'model' | 'project'> {
  readonly name: string;
  readonly cost: number | null;
  readonly saved: number;
}

/**
 * The page of tokens and money that prompts cost, as providers reported them, next to the cost of pasting everything.
 */
export function Costs() {
  const [days, group, agent, project] = readParams('days', 'by', 'agent', 'project');
  const spending = useAsked((relay) => relay.activity.spending({ days: Number(days || 7) }), [days], {
    every: 60_000,
  });
  const all = spending.value?.rows ?? [];
  const rows = all.filter(
    (row) => (agent === '' || row.agent === agent) && (project === '' || row.project === project),
  );
  return (
    <>
      <PageHead
        title="Costs"
        actions={
          rows.length > 0 && (
            <CsvButton
              file="costs.csv"
              names={[...CSV_NAMES, 'cost']}
              rows={rows.map((row) => [
                ...CSV_NAMES.map((name) => row[name]),
                priceOf(spending.value!.prices, row) ?? '',
              ])}
            />
          )
        }
      />
      <div class="bar">
        <SelectFilter label="Time" param="days" fallback="7" options={RANGES} />
        <SelectFilter label="By" param="by" fallback="agent" options={GROUPS} />
        <ValueFilter label="Agent" param="agent" values={all.map((row) => row.agent)} />
        <ValueFilter label="Project" param="project" values={all.map((row) => row.project)} />
      </div>
      <Answer of={spending}>
        {({ prices }) =>
          all.length > 0 && rows.length === 0 ? (
            <Empty title="No answer of a model matches these filters." />
          ) : rows.length === 0 ? (
            <Empty title="No model has answered in this time.">
              <p>
                Answers of models in threads and pipelines are counted here, as their providers report them.
              </p>
              <Command line='relay run "What should we do first?"' about="Ask a model:" />
            </Empty>
          ) : (
            <Body rows={rows} prices={prices} group={(group || 'agent') as Group} />
          )
        }
      </Answer>
      <div class="stack costs-outputs">
        <OutputSavings />
      </div>
    </>
  );
}

function Body({ rows, prices, group }: { rows: readonly SpendingRow[]; prices: Prices; group: Group }) {
  const names = useNames();
  const [total] = sumBy(rows, prices, () => 'all');
  const sums = sumBy(rows, prices, (row) => row[group]);
  if (group === 'day') sums.sort((a, b) => b.name.localeCompare(a.name));
  const byDay = useMemo(
    () =>
      sumBy(rows, prices, ({ day }) => day)
        .map((sum) => ({ at: sum.name, value: sum.input_tokens + sum.output_tokens }))
        .sort((a, b) => a.at.localeCompare(b.at)),
    [rows, prices],
  );
  const unpriced = [
    ...new Set(rows.filter((row) => priceOf(prices, row) === null).map(({ model }) => model)),
  ];
  const money = (cost: number | null) => formatMoney(cost, prices.currency);
  const figure = (title: string, value: (sum: Sum) => string, wide = false): Column<Sum> => ({
    ...{ title, width: '92px', cell: value, figure: true, wide },
  });
  const columns: readonly Column<Sum>[] = [
    group === 'thread'
      ? linkColumn(
          'Thread',
          ({ name }) => to('threads', name),
          ({ name }) => names.get(name) ?? name.slice(0, 8),
        )
      : {
          title: GROUPS[group].replace(/^./, (letter) => letter.toUpperCase()),
          width: 'minmax(0, 1fr)',
          cell: ({ name }) => <ForeignText text={name || 'unknown'} max={120} />,
        },
    figure('Prompts', (sum) => count(sum.prompts), true),
    figure('Input', (sum) => count(sum.input_tokens), true),
    figure('Cached', (sum) => count(sum.cached_input_tokens), true),
    figure('Output', (sum) => count(sum.output_tokens), true),
    figure('Saved', (sum) => count(sum.saved), true),
    figure('Cost', (sum) => money(sum.cost)),
  ];
  return (
    <>
      <div class="figures">
        <Figure
          name="Cost"
          value={money(total!.cost)}
          foot={prices.date ? `prices of ${prices.date}` : 'no prices are configured'}
        />
        <Figure
          name="Input tokens"
          value={count(total!.input_tokens)}
          foot={`${count(total!.cached_input_tokens)} from a cache`}
        />
        <Figure
          name="Output tokens"
          value={count(total!.output_tokens)}
          foot={`${count(total!.prompts)} prompts`}
        />
        <Figure name="Tokens saved" value={count(total!.saved)} foot="compared with pasting everything" />
      </div>
      {unpriced.length > 0 && (
        <p class="warning" role="status">
          No price is configured for <ForeignText text={unpriced.join(', ')} max={200} />. Set{' '}
          <code>prices</code> in config.json: <code>relay config</code> shows the format.
        </p>
      )}
      <Table label={`Costs by ${GROUPS[group]}`} columns={columns} rows={sums} keyOf={({ name }) => name} />
      {byDay.length > 1 && (
        <section class="panel costs-chart" aria-labelledby="tokens-by-day">
          <h2 id="tokens-by-day">Tokens by day</h2>
          <Chart label="Tokens by day" points={byDay} format={count} />
        </section>
      )}
      <p class="soft small costs-method">
        Providers report the tokens. The cost is the tokens of new input, cached input and output, each times
        its configured price. Tokens saved: what pasting everything into the prompts would have cost, minus
        what was sent.
      </p>
    </>
  );
}

type Prices = SpendingReport['prices'];

/** Returns the price of a row; null if the price of its model is unknown. */
function priceOf({ models }: Prices, row: SpendingRow): number | null {
  // A model name may have its provider in front, such as anthropic/NAME.
  const price = models[row.model] ?? models[row.model.slice(row.model.indexOf('/') + 1)];
  if (!price) return null;
  const fresh = row.input_tokens - row.cached_input_tokens;
  const input = fresh * price.input + row.cached_input_tokens * (price.cached_input ?? price.input);
  return (input + row.output_tokens * price.output) / 1_000_000;
}

export function sumBy(
  rows: readonly SpendingRow[],
  prices: Prices,
  nameOf: (row: SpendingRow) => string,
): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const name = nameOf(row);
    const before = sums.get(name);
    const add = (field: Exclude<keyof Sum, 'name' | 'cost' | 'saved'>) => (before?.[field] ?? 0) + row[field];
    const cost = priceOf(prices, row);
    sums.set(name, {
      name,
      prompts: add('prompts'),
      input_tokens: add('input_tokens'),
      cached_input_tokens: add('cached_input_tokens'),
      output_tokens: add('output_tokens'),
      pasted_tokens: add('pasted_tokens'),
      shown_tokens: add('shown_tokens'),
      saved: (before?.saved ?? 0) + row.pasted_tokens - row.shown_tokens,
      cost: cost === null ? (before?.cost ?? null) : (before?.cost ?? 0) + cost,
    });
  }
  return [...sums.values()].sort(
    (a, b) =>
      (b.cost ?? 0) - (a.cost ?? 0) || b.input_tokens + b.output_tokens - a.input_tokens - a.output_tokens,
  );
}

export function formatMoney(cost: number | null, currency = ''): string {
  if (cost === null) return '–';
  return `${cost.toFixed(cost > 0 && cost < 1 ? 4 : 2)} ${currency}`.trim();
}
