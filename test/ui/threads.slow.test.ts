import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noBrowser } from '../browser/chromium.ts';
import type { Dashboard } from './dashboard.ts';
import { asAgent, type Demo, openDemo } from './demo/content.ts';

const skip = noBrowser;
let dashboard: Dashboard;
let demo: Demo['demo'];
let opened: Demo;
before(async () => {
  if (skip) return;
  opened = await openDemo();
  ({ dashboard, demo } = opened);
});
after(async () => opened?.[Symbol.asyncDispose]());

test('a thread can be viewed at an earlier version, compared with it, and reverted', { skip }, async () => {
  const page = await dashboard.open('/ui/threads');
  await page.getByRole('link', { name: 'Checkout latency', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Checkout latency' }).waitFor();
  const state = page.getByRole('region', { name: /^State at v/ });
  await state.getByText('tax.quote, 1 480 ms').waitFor();
  const newest = Number(await page.getByRole('spinbutton', { name: 'Version number' }).inputValue());

  await page.getByRole('slider', { name: 'Version of the state' }).fill('2');
  await page.getByRole('region', { name: 'State at v2', exact: true }).waitFor();
  assert.equal(await state.getByText('tax.quote, 1 480 ms').count(), 0, 'it was not known then');
  assert.equal(await state.getByText('planner').count(), 1, 'who wrote it');

  await page.getByRole('button', { name: 'Diff' }).click();
  await page.getByLabel('Compare with version').fill(String(newest));
  await page
    .getByRole('region', { name: `From v${newest} to v2` })
    .getByText('slow span: tax.quote')
    .waitFor();

  await page.getByRole('button', { name: 'Read', exact: true }).click();
  await page.getByRole('button', { name: 'Revert to v2' }).click();
  await page.getByRole('button', { name: 'Revert', exact: true }).click();
  await page.getByRole('region', { name: `State at v${newest + 1}` }).waitFor();
  const after = await asAgent(dashboard.relay, 'local').threads.state(demo.thread, { counted: false });
  assert.equal(after.version, newest + 1);
  assert.deepEqual(
    after.facts.map(({ id }) => id),
    ['f1'],
  );
  assert.deepEqual(dashboard.problems, []);
});

test('a change by an agent appears without a reload', { skip }, async () => {
  const page = await dashboard.open(`/ui/threads/${demo.other}`);
  await page.getByText('298 ms').waitFor();
  await asAgent(dashboard.relay, 'reviewer').threads.patch(demo.other, {
    ops: [{ op: 'add', path: '/facts/-', value: { id: 'f9', key: 'came later', value: 'and was seen' } }],
  });
  await page.getByText('and was seen').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('each artifact type has its own viewer', { skip }, async () => {
  const page = await dashboard.open(`/ui/threads/${demo.thread}?tab=artifacts`);
  const open = async (name: string) => {
    await page.getByRole('button', { name, exact: true }).click();
    await page.getByRole('heading', { level: 2, name }).waitFor();
    return page.getByRole('region', { name: 'Artifact' });
  };
  const survey = await open('survey.md');
  await survey.getByRole('cell', { name: '1 480 ms' }).waitFor();
  assert.equal(await survey.locator('.markdown strong').first().textContent(), '310 ms');
  const table = await open('spans.csv');
  await table.getByRole('columnheader', { name: 'span' }).waitFor();
  await (await open('trace.json')).getByText('reused').waitFor();
  await (await open('fix.diff')).locator('.diff-added').first().waitFor();
  await (await open('p95.png')).getByRole('img', { name: 'p95.png' }).waitFor();
  await (await open('heap.bin')).getByText('binary data').waitFor();
  const code = await open('quote.ts');
  await code.locator('.tok-keyword').first().waitFor();
  await code.getByRole('searchbox', { name: 'Search this text' }).fill('POOL');
  await code.getByText('1 of 3 lines').waitFor();
  assert.equal(await code.locator('mark').first().textContent(), 'pool');
  assert.deepEqual(dashboard.problems, []);
});

test("a thread page has the model's view, the ledger, a report, an export and a comparison", {
  skip,
}, async () => {
  const page = await dashboard.open(`/ui/threads/${demo.thread}?tab=prompt`);
  await page.getByRole('region', { name: 'Message with role system' }).waitFor();
  const before = await asAgent(dashboard.relay, 'local').threads.stats(demo.thread);
  assert.equal(before.prompts?.prompts, 3, 'a look is not counted as a prompt');
  await page.getByRole('tab', { name: 'Token ledger' }).click();
  await page.getByRole('table', { name: /Recent prompts/ }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), `thread-${demo.thread}.zip`);
  await page.getByRole('button', { name: 'Report' }).click();
  await page
    .getByRole('region', { name: 'Artifact' })
    .locator('.markdown')
    .getByText('Checkout latency')
    .first()
    .waitFor();

  await page.goto(`${dashboard.url}/ui/threads`);
  await page.getByRole('checkbox', { name: 'Select Checkout latency', exact: true }).check();
  await page.getByRole('checkbox', { name: 'Select Checkout latency, second look' }).check();
  await page.getByRole('button', { name: /^Compare/ }).click();
  await page.getByText('298 ms').waitFor();
  await page.getByRole('button', { name: 'Differences' }).click();
  await page.getByRole('region', { name: 'From the first to the second' }).waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('the list of threads has a filter by creator', { skip }, async () => {
  await asAgent(dashboard.relay, 'auditor').threads.create({ name: 'Second opinion' });
  const page = await dashboard.open('/ui/threads');
  await page.getByRole('link', { name: 'Checkout latency', exact: true }).waitFor();
  await page.getByRole('searchbox', { name: 'Created by' }).fill('auditor');
  await page.getByText('1 in total').waitFor();
  await page.getByRole('link', { name: 'Second opinion' }).waitFor();
  assert.deepEqual(dashboard.problems, []);
});
