import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { noBrowser } from '../browser/chromium.ts';
import { until } from '../until.ts';
import type { Dashboard } from './dashboard.ts';
import { asAgent, type Demo, openDemo } from './demo/content.ts';

/** Tests that pages answer the questions for which people open the dashboard. */

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

const attentionOf = (page: Page) => page.getByRole('region', { name: /^Needs attention/ });

test('the overview begins with what failed and why, and one click leads to the failed step', {
  skip,
}, async () => {
  const page = await dashboard.open('/ui/');
  const attention = attentionOf(page);
  const failed = attention.getByRole('listitem').filter({ hasText: 'Failed run' });
  await failed.getByText('tests: 3 of 214 tests failed').waitFor();
  await attention.getByText('Groups gave up on 2 messages.').waitFor();
  await attention.getByText('The schema file is not in the repository').waitFor();
  await page.getByText(/\d things need attention/).waitFor();
  await failed.getByRole('link', { name: /^See why/ }).click();
  await page.getByRole('heading', { name: /tests/ }).waitFor();
  await page.getByText('3 of 214 tests failed').first().waitFor();
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('one search finds threads, artifacts by content, pointers, channels, tasks, runs, files and agents', {
  skip,
}, async () => {
  const page = await dashboard.open('/ui/tasks');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.keyboard.press('/');
  const field = page.getByRole('combobox', { name: 'Search' });
  const group = (name: string) => page.getByRole('group', { name, exact: true });
  await field.waitFor();
  await page.keyboard.type('fix reviewer');
  await group('Pointers').getByRole('option', { name: 'The fix, for review' }).waitFor();
  assert.equal(await field.inputValue(), 'fix reviewer', 'the field has the focus');
  for (const [query, name, result] of [
    ['checkout second', 'Threads', 'Checkout latency, second look'],
    ['connection per item', 'Artifacts', 'survey.md'],
    ['fix review', 'Pointers', 'The fix, for review'],
    ['invoi', 'Channels', 'invoices'],
    ['importer schema', 'Tasks', 'Upgrade the importer to the new schema'],
    ['nightly', 'Runs', 'nightly-report'],
    ['plan.md', 'Files', 'notes/plan.md'],
    ['gemini', 'Agents', 'gemini-ci'],
  ] as const) {
    await field.fill(query);
    await group(name).getByRole('option', { name: result }).first().waitFor();
  }
  await field.fill('no such words anywhere');
  await page.getByText('Nothing found.').waitFor();
  await field.fill('relay:13');
  await group('Go to')
    .getByRole('option', { name: /relay:13/ })
    .waitFor();
  await field.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'The fix, for review' }).waitFor();
  await page.keyboard.press('Control+k');
  await field.fill(demo.thread);
  await group('Go to')
    .getByRole('option', { name: /Checkout latency/ })
    .waitFor();
  await field.press('Escape');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('Show these keys').waitFor();
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('lists are filtered by words, status, sender, channel and time, and the address keeps the filters', {
  skip,
}, async () => {
  const page = await dashboard.open('/ui/pipelines?status=failed');
  const table = page.getByRole('table');
  await table.getByRole('link', { name: 'code-review' }).waitFor();
  assert.equal(await table.getByText('done', { exact: true }).count(), 0);
  await page.getByLabel('Time').selectOption('hour');
  await page.getByText('No run matches these filters.').waitFor();
  await page.goto(`${dashboard.url}/ui/threads`);
  await page.getByLabel('Name or start of the id').fill('FLAKY importer');
  await table.getByRole('link', { name: 'Flaky tests of the importer' }).waitFor();
  await table.getByRole('link', { name: 'Onboarding' }).waitFor({ state: 'detached' });
  assert.match(page.url(), /q=FLAKY/);
  await page.goto(`${dashboard.url}/ui/pointers?kind=one-time`);
  await table.getByRole('link', { name: 'Burns after reading' }).waitFor();
  assert.equal(await table.getByText('The fix, for review').count(), 0);
  await page.goto(`${dashboard.url}/ui/tasks?agent=claude-laptop&state=failed`);
  await table.getByRole('link', { name: 'Upgrade the importer' }).waitFor();
  assert.equal(await table.getByRole('row').count(), 2);
  await page.goto(`${dashboard.url}/ui/channels`);
  await page.getByLabel('Name contains').fill('agent-');
  await table.getByRole('link', { name: 'builds' }).waitFor({ state: 'detached' });
  await page.goto(`${dashboard.url}/ui/?subject=file`);
  const feed = page.getByRole('list', { name: 'Activity, newest first' });
  await feed.getByRole('link', { name: 'src/tax/pool.ts' }).waitFor();
  assert.equal(await feed.getByText('pushed').count(), 0);
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('several items are deleted, retried and canceled at once, and failures are counted', {
  skip,
}, async () => {
  const agent = asAgent(dashboard.relay, 'bulk');
  for (const name of ['bulk one', 'bulk two']) await agent.threads.create({ name });
  const page = await dashboard.open('/ui/threads?q=bulk');
  for (const name of ['bulk one', 'bulk two']) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Delete: 2 done.').waitFor();
  await page.getByText('No thread matches these filters.').waitFor();
  await page.goto(`${dashboard.url}/ui/tasks?state=failed`);
  await page.getByLabel('Select Upgrade the importer to the new schema').check();
  await page.getByRole('button', { name: 'Cancel 0', disabled: true }).waitFor();
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await page.getByText('Retry: 1 done.').waitFor();
  const { tasks } = await agent.tasks.list();
  assert.equal(tasks.filter(({ summary }) => summary?.startsWith('Upgrade the importer')).length, 2);
  await page.goto(`${dashboard.url}/ui/channels/invoices?tab=dead`);
  // Wait for the first dead letter, because `all` below does not wait.
  await page
    .getByLabel(/^Select dead letter/)
    .first()
    .waitFor();
  for (const box of await page.getByLabel(/^Select dead letter/).all()) await box.check();
  await page
    .getByRole('group', { name: 'Selected dead letters' })
    .getByRole('button', { name: 'Drop' })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Drop' }).click();
  await page.getByText('There are no dead letters.').waitFor();
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('files can be browsed, compared, uploaded, downloaded and deleted', { skip }, async () => {
  const page = await dashboard.open('/ui/files');
  await page.getByRole('link', { name: 'checkout' }).click();
  await page.getByRole('button', { name: 'notes/' }).click();
  await page.getByRole('link', { name: 'plan.md' }).click();
  await page.getByRole('tab', { name: 'Versions 3' }).click();
  await page.getByRole('table').getByRole('button', { name: 'v2' }).click();
  await page.getByRole('tab', { name: 'Diff' }).click();
  await page.getByText('From v1 to v2').first().waitFor();
  await page.getByText('find the slow span: tax.quote').waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'plan.md');
  await page.reload();
  await page.getByText('From v1 to v2').first().waitFor();
  await page.goto(`${dashboard.url}/ui/files/checkout`);
  await page.getByLabel('Files to upload').setInputFiles({
    name: 'hello.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from('hello\n'),
  });
  await page.getByText('Uploaded hello.txt.').waitFor();
  await page.getByRole('link', { name: 'hello.txt' }).click();
  await page.getByText('hello', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete it' }).click();
  await page.getByRole('heading', { level: 1, name: 'checkout' }).waitFor();
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('changes of one thread within a minute are one line of the activity, with all authors', {
  skip,
}, async () => {
  const [ann, bob] = [asAgent(dashboard.relay, 'ann'), asAgent(dashboard.relay, 'bob')];
  const { thread_id: id } = await ann.threads.create({ name: 'Many small changes' });
  for (const [at, who] of [ann, bob, ann, ann].entries())
    await who.threads.patch(id, {
      ops: [{ op: 'add', path: '/facts/-', value: { id: `f${at}`, key: 'k', value: at } }],
    });
  const page = await dashboard.open('/ui/?subject=thread');
  const feed = page.getByRole('list', { name: 'Activity, newest first' });
  const line = feed.getByRole('listitem').filter({ hasText: 'in 4 changes' });
  await line.waitFor();
  assert.match((await line.textContent())!, /ann, bob changed Many small changes to v5 in 4 changes/);
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('a project shows its state, who works on it, their claims and what it cost', { skip }, async () => {
  const page = await dashboard.open(`/ui/projects/${demo.project}?tab=state`);
  await page.getByText('Load test with 500 carts a second').waitFor();
  await page.getByText('Staging system: no access yet').waitFor();
  await page.getByText('Run it on the staging system').waitFor();
  await page.getByRole('tab', { name: 'Agents 2' }).click();
  const agents = page.getByRole('list', { name: 'Agents' });
  await agents.getByText('codex-checkout', { exact: true }).waitFor();
  assert.equal(await agents.getByText('claude-laptop').count(), 0, 'it works elsewhere');
  await page.getByRole('table', { name: 'Claims' }).getByText('src/tax/**').waitFor();
  await page.getByRole('link', { name: /^0\.1\d+ USD, .* tokens in the last 7 days$/ }).click();
  await page.getByRole('table', { name: 'Costs by agent' }).getByText('planner').waitFor();
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('the overview shows the same storage as relay du', { skip }, async () => {
  await asAgent(dashboard.relay, 'ann').pointers.push({ body: encodeUtf8('x') });
  const page = await dashboard.open('/ui/keys?tab=usage');
  const store = page.getByRole('region', { name: 'The whole store' });
  await until(async () => {
    const { blobs } = await dashboard.relay.core.deps.engine.usage();
    await page.reload();
    return (await store.textContent())!.includes(`Payloads${blobs.count},`);
  });
  await page.context().close();
});

test('costs are summed by agent, model, thread and day, with the date of the prices, and saved as CSV', {
  skip,
}, async () => {
  const page = await dashboard.open('/ui/costs');
  await page.getByText('prices of 2026-11-01').waitFor();
  await page.getByRole('combobox', { name: 'By', exact: true }).selectOption('model');
  const table = page.getByRole('table', { name: 'Costs by model' });
  await table.getByText('claude-opus-4-8').waitFor();
  await table
    .getByText(/0\.\d{4} USD/)
    .first()
    .waitFor();
  await page.getByRole('combobox', { name: 'By', exact: true }).selectOption('thread');
  await page.getByRole('table', { name: 'Costs by thread' }).getByRole('link').first().waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'costs.csv');
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('a person reads what agents tell each other, with receipts, and takes part', { skip }, async () => {
  const page = await dashboard.open('/ui/agents?tab=conversations');
  await page.getByRole('link', { name: /Does the tax service close idle/ }).click();
  const first = page.getByRole('listitem').filter({ hasText: 'Does the tax service close idle' });
  await first.getByText('answered').waitFor();
  await page.getByLabel('Write to codex-checkout').fill('Thank you. Please use 30.');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('listitem').filter({ hasText: 'Please use 30.' }).getByText('queued').waitFor();
  await page.goto(`${dashboard.url}/ui/agents?tab=claims`);
  await page.getByRole('table', { name: 'Claims' }).getByText('src/tax/**').waitFor();
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});

test('a waiting question needs attention and is answered with one click', { skip }, async () => {
  const agent = asAgent(dashboard.relay, 'deployer');
  const { id } = await agent.questions.ask({ question: 'Deploy 4.3 to production?', choices: ['yes', 'no'] });
  const page = await dashboard.open('/ui/');
  const item = attentionOf(page).getByRole('listitem').filter({ hasText: 'Deploy 4.3 to production?' });
  await item.getByRole('link', { name: /^Answer/ }).click();
  const form = page.getByRole('region', { name: 'Question of deployer' });
  await form.getByRole('button', { name: 'yes' }).click();
  await page.getByText('No question waits for you.').waitFor();
  assert.equal((await agent.questions.get(id)).answer, 'yes');
  await page.context().close();
  assert.deepEqual(dashboard.problems, []);
});
