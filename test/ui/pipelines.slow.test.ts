import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { noBrowser } from '../browser/chromium.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';
import { asAgent, type DemoContent, fillDemo } from './demo-content.ts';

const skip = noBrowser;
let dashboard: Dashboard;
let demo: DemoContent;
before(async () => {
  if (skip) return;
  dashboard = await openDashboard();
  demo = await fillDemo(dashboard.relay);
});
after(async () => dashboard?.[Symbol.asyncDispose]());

test('a run is followed: the graph, a step and its output, what changes while somebody looks', {
  skip,
}, async () => {
  const page = await dashboard.open('/ui/pipelines');
  await page.getByRole('link', { name: 'code-review' }).click();
  const graph = page.getByRole('region', { name: 'The steps and what they wait for' });
  await graph.getByRole('button', { name: /^merge\W+pending\W+waits for security, style/ }).waitFor();
  await graph.getByRole('button', { name: /^style\W+running/ }).waitFor();
  await graph.getByRole('button', { name: /^security\W+done/ }).click();
  await page.getByText('Nothing to complain about.').waitFor();
  await page.getByText(`relay pipeline run --of ${demo.run} --from security`).waitFor();
  await page.getByText(`relay pipeline run --run ${demo.run}`).waitFor();
  await page
    .getByRole('region', { name: 'When each step ran' })
    .getByRole('button', { name: /^read\W+done\W+1.2 s/ })
    .waitFor();
  await asAgent(dashboard.relay, 'planner').threads.record(demo.run, 'step.failed', {
    step: 'style',
    attempts: 1,
    why: 'no linter',
  });
  await graph.getByRole('button', { name: /^style\W+failed/ }).click();
  await page.getByText('no linter').waitFor();
  await page.getByRole('button', { name: 'Send as a task' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Send the task' }).click();
  await page.getByText('queued').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('a relay that was told of no project says how to tell it', { skip }, async () => {
  const page = await dashboard.open('/ui/projects');
  await page.getByText('The relay was told of no project.').waitFor();
  await page.getByText('relay up --project .').waitFor();
  assert.deepEqual(dashboard.problems, []);
});
