import { count, plural } from '../../../src/base/format.ts';
import type { OutputReport } from '../../../src/contract/pointers.ts';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';

type Row = OutputReport['commands'][number];

const figure = (title: string, name: keyof OutputReport['total'], wide = false): Column<Row> => ({
  title,
  width: '76px',
  cell: (row) => count(row[name]),
  figure: true,
  wide,
});

const COLUMNS: readonly Column<Row>[] = [
  {
    title: 'Command',
    width: 'minmax(0, 1fr)',
    cell: ({ command }) => <ForeignText text={command || '(pipe)'} max={40} />,
  },
  figure('Shown', 'shown', true),
  figure('Kept back', 'kept_back'),
  figure('Pulled', 'pulled', true),
  figure('Net', 'net'),
];

/** Tokens of the outputs that `relay tee` has stored, by command. Displays nothing if there are none. */
export function OutputSavings() {
  const report = useAsked(async (relay) => (hasScope('pull') ? relay.pointers.outputs() : null), [], {
    every: 60_000,
  });
  if (!report.value || report.value.since === null) return null;
  const { commands, total, method } = report.value;
  return (
    <section class="panel" aria-labelledby="outputs">
      <h2 id="outputs">Outputs of commands</h2>
      <Table
        label="Tokens of stored outputs, by command"
        columns={COLUMNS}
        rows={commands}
        keyOf={({ command }) => command}
      />
      <p class="soft" title={method}>
        {count(total.net)} tokens saved in {plural(total.runs, 'output')}
      </p>
    </section>
  );
}
