import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { agent } from '../bridge/bridge.ts';
import { noBrowser } from '../browser/chromium.ts';
import { until } from '../until.ts';
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

test('a new push appears with its channel without a reload', { skip }, async () => {
  const page = await dashboard.open('/ui/');
  await page.getByText('Live', { exact: true }).waitFor();
  const feed = page.getByRole('list', { name: 'Activity, newest first' });
  await feed.waitFor();
  await asAgent(dashboard.relay, 'latecomer').pointers.push({
    body: encodeUtf8('x'),
    channel: 'fresh-channel',
  });
  const line = feed.getByRole('listitem').filter({ hasText: 'latecomer' });
  await line.waitFor();
  assert.match((await line.textContent())!, /latecomer pushed \w{8} \(relay:\d+, 1 byte\) on fresh-channel/);
  await feed.getByRole('link', { name: 'Where things are' }).first().waitFor();
  assert.match((await page.getByText(/prompts \(/).textContent())!, /o200k_base/, 'the tokenizer is named');
  await page.getByRole('table', { name: 'Tokens saved over time' }).waitFor({ state: 'attached' });
  await page.getByText('accepts writes').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('a failed connection is reported, and live updates start when it works', { skip }, async () => {
  const page = await dashboard.open('/ui/no-such-page');
  await page.route('**/activity/events*', (route) => route.abort());
  await page.goto(`${dashboard.url}/ui/threads`);
  await page.getByText('The connection to the relay was lost.').waitFor();
  await page.unroute('**/activity/events*');
  await page.getByText('Live', { exact: true }).waitFor();
  assert.equal(await page.getByText('The connection to the relay was lost.').count(), 0);
  const failed = dashboard.problems.splice(0);
  assert.ok(
    failed.every((line) => line.includes('ERR_FAILED')),
    failed.join('\n'),
  );
});

test('a task can be sent, followed and canceled', { skip }, async () => {
  const page = await dashboard.open('/ui/tasks?tab=send');
  await page.getByLabel('Task', { exact: true }).fill('Count the words of the survey');
  await page.getByRole('combobox', { name: 'Agent' }).selectOption('claude-laptop');
  await page.getByRole('button', { name: 'Send task' }).click();
  await page.getByRole('heading', { level: 1, name: 'Count the words of the survey' }).waitFor();
  await page.getByText('queued').waitFor();
  await page.getByText('agent-tasks@claude-laptop').waitFor();
  await page.getByRole('button', { name: 'Cancel task' }).click();
  await page.getByRole('button', { name: 'Cancel the task' }).click();
  await page.getByText('canceled').first().waitFor();
  await page.goto(`${dashboard.url}/ui/tasks/${demo.task}`);
  await page.getByText('Refactored; 214 tests pass').first().waitFor();
  await page.goto(`${dashboard.url}/ui/tasks`);
  const tasks = page.getByRole('table', { name: 'Tasks, newest first' });
  await tasks.getByText('Upgrade the importer').waitFor();
  await page.goto(`${dashboard.url}/ui/agents`);
  await page.getByRole('list', { name: 'Agents' }).getByText('codex-server').waitFor();
  assert.deepEqual(dashboard.problems, []);
});

test('a task that no agent claims is flagged', { skip }, async () => {
  await using ownDashboard = await openDashboard();
  await asAgent(ownDashboard.relay, 'planner').pointers.push({
    body: encodeUtf8('x'),
    channel: 'agent-tasks',
    metadata: { summary: 'Nobody wants this' },
  });
  ownDashboard.relay.advance(3_600_000);
  const page = await ownDashboard.open('/ui/tasks');
  await page.getByText(/One task is stuck: Nobody wants this/).waitFor();
  assert.deepEqual(ownDashboard.problems, []);
});

test('a question of an agent is shown on its task, in the list of tasks and next to the agent', {
  skip,
}, async () => {
  await using ownDashboard = await openDashboard();
  const relay = new ContextRelay({ baseUrl: ownDashboard.relay.url });
  const runner = agent(async ({ stuck, signal }) => {
    stuck?.({
      why: 'The agent in tmux work waits for an answer',
      asked: 'rm -r build · Do you want to proceed?',
    });
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { output: '' };
  });
  const bridge = new AgentBridge(relay, { runner, name: 'claude-laptop' });
  await using _ = await bridge.start();
  const { id } = await bridge.send('Clean up', { summary: 'Clean up' });
  await until(async () => (await relay.tasks.get(id)).stuck !== null);
  const question = /waits for an answer: rm -r build · Do you want to proceed\?/;
  const page = await ownDashboard.open('/ui/tasks');
  await page
    .getByText(/One task is stuck: Clean up/)
    .getByText(question)
    .waitFor();
  await page.goto(`${ownDashboard.url}/ui/agents`);
  const agents = page.getByRole('list', { name: 'Agents' });
  await agents.getByText(question).waitFor();
  await agents.getByText('stuck', { exact: true }).waitFor();
  await page.goto(`${ownDashboard.url}/ui/tasks/${id}`);
  await page.getByRole('status').getByText(question).waitFor();
  assert.deepEqual(ownDashboard.problems, []);
});
