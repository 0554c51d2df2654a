import type { Hono } from 'hono';
import { type UsageReport, usage } from '../../contract/usage.ts';
import type { RelayOf } from './callers.ts';
import { queryOf } from './query.ts';
import { jsonResponse, textResponse } from './responses.ts';

/** `GET /usage`: as JSON, or as a table for a spreadsheet. */
export function usageRoutes(api: Hono, relayOf: RelayOf): void {
  api.get('/usage', async (c) => {
    const relay = await relayOf(c, usage.get);
    const query = queryOf(c.req.url);
    const report = await relay.usage.get({
      month: query.get('month') ?? undefined,
      tenant: query.get('tenant') ?? undefined,
    });
    const csv = query.get('format') === 'csv' || (c.req.header('accept') ?? '').includes('text/csv');
    if (!csv) return jsonResponse(report);
    return textResponse(usageTable(report), {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="usage-${report.tenant}-${report.month}.csv"`,
    });
  });
}

/** No field can hold a comma, a quote or the beginning of a formula: all are ids, dates and numbers. */
function usageTable({ tenant, rows }: UsageReport): string {
  const lines = rows.map((row) => [row.day, tenant, row.key, row.operation, row.count, row.bytes].join(','));
  return ['day,tenant,key,operation,count,bytes', ...lines, ''].join('\r\n');
}
