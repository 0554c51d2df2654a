import { useState } from 'preact/hooks';
import { bytes, count } from '../../../src/base/format.ts';
import type { Meter, UsageRow } from '../../../src/contract/keys.ts';
import { Command } from '../../parts/copy-button.tsx';
import { CsvButton } from '../../parts/csv-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { Facts, Figure } from '../../parts/page-head.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { self } from '../../session/self.ts';

const COLUMNS: readonly Column<UsageRow>[] = [
  { title: 'Day', width: '96px', cell: ({ day }) => <span class="mono">{day}</span> },
  { title: 'Key', width: 'minmax(0, 1fr)', cell: ({ key }) => <ForeignText text={key} max={60} /> },
  {
    title: 'Operation',
    width: 'minmax(0, 1fr)',
    cell: ({ operation }) => <ForeignText text={operation} max={60} />,
  },
  { title: 'Count', width: '80px', cell: (row) => count(row.count), figure: true },
  { title: 'Bytes', width: '90px', cell: (row) => bytes(row.bytes), figure: true, wide: true },
];

const CSV_NAMES = ['day', 'key', 'operation', 'count', 'bytes'] as const;

/** Usage of a month against the plan's limits. */
export function Usage() {
  const [month, setMonth] = useState('');
  const usage = useAsked((relay) => relay.usage.get({ store: true, ...(month ? { month } : {}) }), [month]);
  return (
    <>
      <div class="bar spread">
        <label class="field">
          <span>Month</span>
          <input
            type="month"
            value={month || new Date().toISOString().slice(0, 7)}
            onChange={(event) => setMonth(event.currentTarget.value)}
          />
        </label>
        {usage.value && usage.value.rows.length > 0 && (
          <CsvButton
            file={`usage-${usage.value.month}.csv`}
            names={CSV_NAMES}
            rows={usage.value.rows.map((row) => CSV_NAMES.map((name) => row[name]))}
          />
        )}
      </div>
      <Answer of={usage}>
        {(report) => (
          <>
            <div class="figures">
              <UsageMeter name="Pushes" meter={report.pushes} format={count} />
              <UsageMeter name="Pulls" meter={report.pulls} format={count} />
              <UsageMeter name="Storage" meter={report.storage} format={bytes} />
              <Figure
                name="Plan"
                value={report.plan}
                foot={
                  <>
                    counters reset <Ago at={report.reset} />
                  </>
                }
              />
            </div>
            {report.store && (
              <section class="panel store-size" aria-labelledby="store-size">
                <h2 id="store-size">The whole store</h2>
                <Facts
                  rows={[
                    ['Payloads', `${count(report.store.payloads)}, ${bytes(report.store.payload_bytes)}`],
                    ['Records', count(report.store.records)],
                    ['Log entries', count(report.store.entries)],
                    report.store.disk_bytes > 0 && ['On disk', bytes(report.store.disk_bytes)],
                  ]}
                />
                <p class="soft small">
                  <code>relay du</code> prints the same figures. Storage above counts only the threads, files
                  and channels of this tenant.
                </p>
              </section>
            )}
            {report.rows.length === 0 ? (
              <Empty title={`No usage in ${report.month}.`}>
                <p>
                  Usage is counted per key, operation and day.
                  {self.value?.auth === 'open' &&
                    ' This relay requires no keys, so it measures only storage.'}
                </p>
                {self.value?.auth === 'open' && (
                  <Command line="relay up --host 0.0.0.0 --auth" about="Accept other machines, with keys:" />
                )}
              </Empty>
            ) : (
              <Table
                label={`Usage in ${report.month}`}
                columns={COLUMNS}
                rows={report.rows}
                keyOf={({ day, key, operation }) => `${day} ${key} ${operation}`}
                rowHeight={34}
              />
            )}
          </>
        )}
      </Answer>
    </>
  );
}

function UsageMeter({
  name,
  meter: { used, limit },
  format,
}: {
  name: string;
  meter: Meter;
  format: (n: number) => string;
}) {
  const share = limit === null ? 0 : Math.min(1, used / Math.max(limit, 1));
  return (
    <Figure
      name={name}
      value={format(used)}
      foot={
        limit === null ? (
          'no limit'
        ) : (
          <>
            of {format(limit)}
            <meter
              min={0}
              max={1}
              high={0.9}
              optimum={0}
              value={share}
              aria-label={`${name}: ${Math.round(share * 100)} % of the limit`}
            />
          </>
        )
      }
    />
  );
}
