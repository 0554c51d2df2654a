import type { Meter, UsageReport } from '../../../contract/usage.ts';
import { defineCommand } from '../command.ts';
import { bytes, count, moment, rows } from '../human.ts';
import type { Io } from '../io.ts';
import { TENANT_FLAG } from '../keys/key-rows.ts';

export default defineCommand({
  flags: {
    month: { value: 'YYYY-MM', help: 'another month, in UTC' },
    csv: { help: 'a table by day, key and operation, for a spreadsheet' },
    ...TENANT_FLAG,
  },
  examples: [
    ['relay usage', 'this month'],
    ['relay usage --month 2026-10 --csv', 'another one, as a table'],
  ],
  async run({ io, flags, open }) {
    const { relay } = await open();
    const report = await relay.usage.get({ month: flags.month, tenant: flags.tenant });
    if (flags.csv) io.stdout.write(table(report));
    else io.result(report, () => summary(report, io));
  },
});

function table({ tenant, rows: all }: UsageReport): string {
  const lines = all.map((row) => [row.day, tenant, row.key, row.operation, row.count, row.bytes].join(','));
  return `${['day,tenant,key,operation,count,bytes', ...lines].join('\n')}\n`;
}

function summary(report: UsageReport, io: Io): string {
  const moved = report.rows.reduce((sum, row) => sum + row.bytes, 0);
  return rows(io.style.dim, [
    ['tenant', `${report.tenant}, plan ${report.plan}`],
    ['month', `${report.month} (UTC), until ${moment(report.reset)}`],
    ['pushes', meter(report.pushes)],
    ['pulls', meter(report.pulls)],
    ['storage', meter(report.storage, bytes)],
    ['moved', bytes(moved)],
  ]);
}

function meter({ used, limit }: Meter, told = count): string {
  return limit === null ? told(used) : `${told(used)} of ${told(limit)}`;
}
