import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { ERRORS } from '../../src/base/error-rows.ts';
import { openNats } from '../../src/engines/nats/engine.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { findNatsServer, startCluster } from '../nats/cluster.ts';

const run = promisify(execFile);
const FOLDER = 'deploy/monitoring';
const file = (name: string) => readFileSync(join(FOLDER, name), 'utf8');
const runbook = readFileSync('docs/runbook.md', 'utf8');

const promtool = await run('promtool', ['--version']).then(
  () => false as const,
  () => 'promtool is not installed (Debian: prometheus)',
);
const natsServer = await findNatsServer();
const noNats = 'missing' in natsServer ? natsServer.missing : false;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

const { groups } = parse(file('alerts.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

test('promtool accepts the alert rules, and they fire when they should', { skip: promtool }, async () => {
  await run('promtool', ['check', 'rules', 'alerts.yaml'], { cwd: FOLDER });
  await run('promtool', ['test', 'rules', 'alerts.test.yaml'], { cwd: FOLDER });
});

test('the runbook has a section for each alert and a row for each 5xx code of a server', () => {
  for (const { alert, annotations } of rules) {
    assert.ok(runbook.includes(`\n### ${alert}\n`), alert);
    assert.equal(annotations.runbook_url, `docs/runbook.md#${alert.toLowerCase()}`);
  }
  const runbookCodes = new Set([...runbook.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code));
  for (const code of [
    'internal',
    'store_damaged',
    'store_unavailable',
    'cluster_unavailable',
    'store_full',
  ]) {
    assert.ok(code in ERRORS, code);
    assert.ok(runbookCodes.has(code), code);
  }
});

/** The following schemas are the parts of Grafana's dashboard schema that our dashboard uses. */
const gridPos = z.strictObject({
  x: z.int().min(0).max(23),
  y: z.int().min(0),
  w: z.int().min(1).max(24),
  h: z.int().min(1),
});
const target = z.strictObject({
  refId: z.string().regex(/^[A-Z]$/),
  expr: z.string().min(1),
  legendFormat: z.string(),
  instant: z.boolean().optional(),
  format: z.enum(['table', 'time_series']).optional(),
});
const row = z.strictObject({
  id: z.int(),
  title: z.string(),
  type: z.literal('row'),
  gridPos,
  collapsed: z.boolean(),
  panels: z.array(z.never()),
});
const panel = z.strictObject({
  id: z.int(),
  title: z.string().min(1),
  description: z.string().optional(),
  gridPos,
  type: z.enum(['timeseries', 'stat', 'table']),
  datasource: z.strictObject({ type: z.literal('prometheus'), uid: z.string().startsWith('$') }),
  fieldConfig: z.strictObject({
    defaults: z.strictObject({
      unit: z.enum(['short', 'reqps', 's', 'percentunit', 'bytes']),
      min: z.number(),
    }),
    overrides: z.array(z.never()),
  }),
  targets: z.array(target).min(1),
});
const dashboard = z.strictObject({
  title: z.string(),
  uid: z.string().max(40),
  tags: z.array(z.string()),
  schemaVersion: z.int().min(36),
  version: z.int(),
  editable: z.boolean(),
  refresh: z.string(),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  templating: z.strictObject({
    list: z.array(
      z.strictObject({ name: z.string(), type: z.string(), query: z.string(), label: z.string() }),
    ),
  }),
  annotations: z.strictObject({ list: z.array(z.never()) }),
  panels: z.array(z.union([row, panel])),
});

const { panels } = dashboard.parse(JSON.parse(file('dashboard.json')));

test('the panels of the dashboard do not overlap, and their ids differ', () => {
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const usedCells = new Set<string>();
  for (const { title, gridPos: at } of panels)
    for (let x = at.x; x < at.x + at.w; x++)
      for (let y = at.y; y < at.y + at.h; y++) {
        assert.ok(x < 24 && !usedCells.has(`${x} ${y}`), title);
        usedCells.add(`${x} ${y}`);
      }
});

test('every metric in the alerts and the dashboard is a metric of a relay on a cluster', {
  skip: noNats,
}, async () => {
  await using cluster = await startCluster({ fsync: false, accountBytes: 2 ** 30 });
  await using relay = await startRelay({
    open: (env) => openNats({ url: cluster.url, env }),
    server: { auth: 'open' },
  });
  const metrics = async () => (await fetch(`${relay.url}/metrics`)).text();
  let text = await metrics();
  while (!text.includes('relay_cluster')) text = await metrics();
  const names = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!));
  // Prometheus adds `up`. `relay up` adds the metrics of its background check of payloads, which does not run here.
  for (const name of ['up', 'relay_scrub_damaged']) names.add(name);
  const exprs = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap((one) => ('targets' in one ? one.targets.map(({ expr }) => expr) : [])),
  ];
  const used = exprs.flatMap((expr) => expr.match(/\b(?:relay|process|nodejs)_\w+/g) ?? []);
  assert.ok(used.length > 20);
  for (const name of used) assert.ok(names.has(name.replace(/_(bucket|sum|count)$/, '')), name);
});
