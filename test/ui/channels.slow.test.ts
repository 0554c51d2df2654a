import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noBrowser } from '../browser/chromium.ts';
import { until } from '../until.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';
import { asAgent } from './demo/content.ts';

const skip = noBrowser;
let dashboard: Dashboard;
before(async () => {
  if (skip) return;
  dashboard = await openDashboard({ core: { channels: { attempts: 1 } } });
});
after(async () => dashboard?.[Symbol.asyncDispose]());

test('a channel can be followed live, filtered, and replayed from any point', { skip }, async () => {
  const agent = asAgent(dashboard.relay, 'builder');
  const seqs: number[] = [];
  for (let at = 1; at <= 5; at++)
    seqs.push((await agent.channels.publish('builds', `build ${at} is green`)).seq);
  const page = await dashboard.open('/ui/channels');
  await page.getByRole('link', { name: 'builds' }).click();
  const table = page.getByRole('table', { name: 'Messages, newest first' });
  await table.getByText('build 5 is green').waitFor();
  assert.equal(await table.getByText('build 1 is green').count(), 1);

  await asAgent(dashboard.relay, 'tester').channels.publish('builds', { suite: 'slow', failed: 2 });
  await table.getByText('"failed":2').waitFor();

  await page.getByLabel('Contains').fill('build 3');
  await table.getByText('build 5').waitFor({ state: 'detached' });
  assert.equal(await table.getByText('build 3 is green').count(), 1);
  await page.getByLabel('Contains').fill('');
  await page.getByRole('combobox', { name: 'From' }).selectOption('tester');
  await table.getByText('build 5').waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: 'From' }).selectOption('');

  await page.getByLabel('Start with').selectOption('from');
  await page.getByLabel('After sequence or ISO time').fill(String(seqs[2]));
  await page.getByRole('button', { name: 'Replay' }).click();
  await table.getByText('build 4 is green').waitFor();
  assert.equal(await table.getByText('build 3 is green').count(), 0, 'it begins behind the third');

  await page.getByRole('button', { name: 'Pause' }).click();
  await agent.channels.publish('builds', 'while it was paused');
  await page.getByRole('button', { name: 'Resume' }).click();
  await table.getByText('while it was paused').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('a message can be published by hand', { skip }, async () => {
  const page = await dashboard.open('/ui/channels/by-hand');
  await page.getByText('There are no messages.').waitFor();
  await page.getByRole('tab', { name: 'Publish' }).click();
  await page.getByLabel('Text or JSON').fill('{"from":"a person"}');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(/Sent as message \d+/).waitFor();
  await page.getByRole('tab', { name: 'Messages' }).click();
  await page.getByRole('table').getByText('a person').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('a group shows waiting messages and the work of its members; dead letters can be retried and dropped', {
  skip,
}, async () => {
  const agent = asAgent(dashboard.relay, 'worker');
  for (const work of ['first job', 'second job', 'third job']) await agent.channels.publish('jobs', work);
  const closing = new AbortController();
  const leases: { seq: number; token: number }[] = [];
  const working = (async () => {
    const jobs = agent.channels.subscribe('jobs', {
      group: 'workers',
      since: 'all',
      prefetch: 2,
      signal: closing.signal,
    });
    for await (const { seq, token } of jobs) {
      leases.push({ seq, token: token! });
      if (leases.length <= 2) await agent.channels.nack('jobs', 'workers', { seq, token: token! });
    }
  })().catch(() => {});
  await until(() => leases.length >= 3);
  const page = await dashboard.open('/ui/channels/jobs?tab=groups');
  const group = page.getByRole('region', { name: 'Group workers' });
  await group.getByRole('table', { name: 'Leases of workers' }).waitFor();
  await page.getByRole('tab', { name: 'Dead letters 2' }).click();
  const letters = page.getByRole('table', { name: /Dead letters/ });
  await letters.getByText('first job').waitFor();
  await letters.getByRole('button', { name: 'Retry' }).first().click();
  await page.getByText('Sent again to the group workers.').waitFor();
  await letters.getByText('first job').waitFor({ state: 'detached' });
  await letters.getByRole('button', { name: 'Drop' }).click();
  await page.getByRole('button', { name: 'Drop it' }).click();
  await page.getByText('There are no dead letters.').waitFor();
  closing.abort();
  await working;
  assert.deepEqual(dashboard.problems, []);
});
