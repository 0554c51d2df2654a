import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { readText } from '../../src/base/utf8.ts';
import { noBrowser } from '../browser/chromium.ts';
import { type Dashboard, openDashboard } from './dashboard.ts';
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

test('a run shows its graph, each step with prompt and output, and live changes', {
  skip,
}, async () => {
  const page = await dashboard.open('/ui/pipelines');
  await page.getByRole('link', { name: 'code-review' }).first().click();
  const graph = page.getByRole('region', { name: 'Steps and their dependencies' });
  await graph.getByRole('button', { name: /^merge\W+pending\W+waits for security, tests, style/ }).waitFor();
  await graph.getByRole('button', { name: /^style\W+running/ }).waitFor();
  await graph.getByRole('button', { name: /^security\W+done/ }).click();
  await page.getByText('What could an attacker do with it?').waitFor();
  await page.getByText('Nothing to complain about.').waitFor();
  await page.getByText(`relay pipeline run --of ${demo.run} --from security`).waitFor();
  await page.getByText(`relay pipeline run --run ${demo.run}`).waitFor();
  await page
    .getByRole('region', { name: 'When each step ran' })
    .getByRole('button', { name: /^read\W+done\W+6.0 s/ })
    .waitFor();
  await graph.getByRole('button', { name: /^tests\W+running/ }).click();
  await page.getByText('the database was not up').waitFor();
  await asAgent(dashboard.relay, 'planner').threads.record(demo.run, 'step.failed', {
    step: 'style',
    attempts: 1,
    why: 'no linter',
  });
  await graph.getByRole('button', { name: /^style\W+failed/ }).click();
  await page.getByText('no linter').waitFor();
  await asAgent(dashboard.relay, 'planner').threads.record(demo.run, 'step.done', {
    step: 'security',
    partial: ['4.4 KiB of 205 KiB of app.diff'],
    incomplete: 'refused',
  });
  await page.getByText('security saw only 4.4 KiB of 205 KiB of app.diff.').waitFor();
  await page.getByText('security refused to answer.').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('without a runner the page shows a command to copy; with a runner, a button sends the rerun as a task', {
  skip,
}, async () => {
  const page = await dashboard.open(`/ui/pipelines/${demo.run}?step=read`);
  await page.getByText('relay bridge start --pipelines .').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Rerun from read' }).count(), 0);
  await asAgent(dashboard.relay, 'builder').agents.beat('builder', {
    instance: 'r1',
    runner: 'pipelines',
    target: '.',
    task_channel: 'pipeline-tasks',
    done_channel: 'agent-done',
    concurrency: 1,
    running: [],
    done: 0,
    failed: 0,
    started_at: new Date().toISOString(),
  });
  await page.getByRole('button', { name: 'Rerun from read' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Send task' }).click();
  await page.getByRole('heading', { level: 1, name: 'Rerun from read: code-review' }).waitFor();
  const { tasks } = await asAgent(dashboard.relay, 'local').tasks.list({ channel: 'pipeline-tasks' });
  const { body } = await asAgent(dashboard.relay, 'builder').pointers.pull(tasks[0]!.id);
  assert.equal(await readText(body), `relay pipeline run --of ${demo.run} --from read`);
  assert.deepEqual(dashboard.problems, []);
});

test('a project shows its todos, decisions and brief, and follows changes of its files', {
  skip,
}, async () => {
  const page = await dashboard.open('/ui/projects');
  await page.getByText('1 blocked').waitFor();
  await page.getByRole('link', { name: 'checkout' }).click();
  await page.getByText('Load test with 500 carts a second').waitFor();
  await page.getByText('nobody there has answered').waitFor();
  await page.getByRole('tab', { name: /Decisions/ }).click();
  await page.getByText('A pool of 16 connections, taken for at most 250 ms.').waitFor();
  await page.getByRole('tab', { name: 'Brief' }).click();
  const brief = page.getByRole('region', { name: 'Brief for a new session' });
  await brief.getByText('Ask the vendor whether idle connections are closed').waitFor();
  await openProject(opened.folder).addTodo({ title: 'Added while somebody looked' });
  await page.getByRole('tab', { name: /Todos/ }).click();
  await page.getByText('Added while somebody looked').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('a relay without projects says how to add one', { skip }, async () => {
  await using ownDashboard = await openDashboard();
  const page = await ownDashboard.open('/ui/projects');
  await page.getByText('No projects yet.').waitFor();
  await page.getByText('relay up --project .').waitFor();
  assert.deepEqual(ownDashboard.problems, []);
});
