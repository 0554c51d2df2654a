import { encodeUtf8 } from '../../../src/base/utf8.ts';
import type { Bridge } from '../../../src/contract/agents.ts';
import type { Relay } from '../../../src/contract/relay.ts';
import { TASK_GROUP } from '../../../src/contract/tasks.ts';
import { ContextRelay } from '../../../src/public/index.ts';
import type { RelayUnderTest } from '../../http/relay-under-test.ts';
import { until } from '../../until.ts';
import { DIFF, SURVEY } from './thread.ts';

type Agents = (name: string) => Relay;
type Pass = (minutes: number) => Promise<void>;

/**
 * Creates pointers, channels with groups and dead letters, tasks with bridges, keys, files, and sessions with a
 * conversation.
 */
export async function fillWork(
  relay: RelayUnderTest,
  agent: Agents,
  pass: Pass,
  signal: AbortSignal,
  catchUp: () => Promise<string>,
) {
  await fillBuilds(agent, pass);
  const tasks = await fillTasks(agent, pass);
  for (const name of ['laptop', 'ci', 'notebook'])
    await agent('local').keys.create({ name, scopes: ['push', 'pull', 'subscribe'] });
  await agent('gemini-ci').agents.beat('gemini-ci', {
    ...bridge('c3', 'acp', 'gemini --acp'),
    running: [tasks.waiting],
  });
  const run = await catchUp();
  await fillInvoices(agent, signal);
  await fillFiles(agent);
  const { secret, once } = await fillPointers(relay, agent);
  await fillBridges(agent, tasks.running, signal);
  const conversation = await fillConversation(agent);
  return { run, secret, once, task: tasks.done, conversation };
}

async function fillBuilds(agent: Agents, pass: Pass): Promise<void> {
  for (const [at, msg] of [
    'main is green',
    { suite: 'importer', failed: 2, of: 214 },
    'main is red: importer',
    'release 4.3 is out',
    'main is green',
  ].entries()) {
    await agent(at % 2 ? 'reviewer' : 'ci').channels.publish('builds', msg);
    await pass(9);
  }
}

/** Creates a group with two dead letters, two messages in progress and one waiting. */
async function fillInvoices(agent: Agents, signal: AbortSignal): Promise<void> {
  for (const invoice of ['2026-1041', '2026-1042', '2026-1043', '2026-1044', '2026-1045'])
    await agent('mailbox').channels.publish('invoices', { invoice, pages: 3 });
  const worker = agent('parser-1');
  let dead = 0;
  void (async () => {
    const work = worker.channels.subscribe('invoices', {
      group: 'parsers',
      since: 'all',
      prefetch: 2,
      signal,
    });
    for await (const { seq, token, msg } of work) {
      if (!/104[12]/.test(JSON.stringify(msg))) continue;
      if ((await worker.channels.nack('invoices', 'parsers', { seq, token: token! })).dead) dead++;
    }
  })().catch(() => {});
  await until(() => dead === 2);
}

/** Creates files in two spaces, one of them with several versions. */
async function fillFiles(agent: Agents): Promise<void> {
  const put = (name: string, path: string, text: string, space = 'checkout') =>
    agent(name).files.put(space, path, { body: encodeUtf8(text) });
  await put('planner', 'notes/plan.md', '# Plan\n\n- find the slow span\n- fix it\n- load test\n');
  await put(
    'reviewer',
    'notes/plan.md',
    '# Plan\n\n- [x] find the slow span: tax.quote\n- fix it\n- load test\n',
  );
  await put(
    'reviewer',
    'notes/plan.md',
    '# Plan\n\n- [x] find the slow span: tax.quote\n- [x] pool of 16\n- load test\n',
  );
  await put('researcher', 'fix.diff', DIFF);
  await put('researcher', 'src/tax/pool.ts', 'export const size = 16;\n');
  await put('planner', 'welcome.md', '# Welcome\n', 'onboarding');
}

/** Creates two sessions that exchange messages, and a claim. */
async function fillConversation(agent: Agents): Promise<string> {
  const session = (client: string, name: string) =>
    agent(name).agents.enter(name, {
      ...{
        client,
        session: `${client}-1`,
        folder: '/srv/checkout',
        project: 'checkout',
        machine: 'laptop',
        reach: 'turn',
      },
      ...{
        busy: client === 'codex',
        works_on: 'Load test with 500 carts a second',
        inbound: 'all',
        named: true,
      },
    });
  await session('claude', 'claude-checkout');
  await session('codex', 'codex-checkout');
  const result = await agent('claude-checkout').agents.send(
    'codex-checkout',
    'Does the tax service close idle connections? The pool keeps sixteen.',
  );
  const { id, conversation } = result.messages[0]!;
  await agent('codex-checkout').agents.mark('codex-checkout', { ids: [id], as: 'shown', route: 'hook' });
  await agent('codex-checkout').agents.send(null, 'After 60 seconds. I set the idle time to 45.', {
    reply_to: id,
  });
  await agent('codex-checkout').agents.claim('checkout', 'src/tax/**');
  return conversation;
}

async function fillTasks(agent: Agents, pass: Pass) {
  const send = async (text: string) => {
    const { id } = await agent('planner').pointers.push({
      body: encodeUtf8(`${text}.\n`),
      content_type: 'text/plain',
      channel: 'agent-tasks',
      metadata: { summary: text, done_channel: 'agent-done' },
    });
    await pass(6);
    return id;
  };
  const laptop = agent('claude-laptop');
  const done = await send('Refactor the tax client and run its tests');
  await laptop.tasks.done(done, { data: 'All 214 tests pass.', summary: 'Refactored; 214 tests pass' });
  const failed = await send('Upgrade the importer to the new schema');
  await laptop.tasks.fail(failed, { summary: 'The schema file is not in the repository' });
  const canceled = await send('Translate the onboarding e-mails');
  await agent('planner').tasks.cancel(canceled, { reason: 'The texts are still being written' });
  const running = await send('Write the load test for 500 carts a second');
  const waiting = await send('Find out why the importer is flaky on Mondays');
  return { done, running, waiting };
}

async function fillPointers(relay: RelayUnderTest, agent: Agents) {
  const client = new ContextRelay({ baseUrl: relay.url });
  const push = (from: string, data: string, metadata: object, content_type = 'text/plain') =>
    agent(from).pointers.push({
      body: encodeUtf8(data),
      channel: 'reviews',
      metadata: metadata as never,
      content_type,
      count: true,
    });
  await push('researcher', SURVEY, { summary: 'Survey of the checkout latency', filename: 'survey.md' });
  await push('reviewer', DIFF, { summary: 'The fix, for review', filename: 'fix.diff' });
  await push('researcher', 'cart 1 41 ms\n'.repeat(4_000), { summary: 'Load test, raw output' });
  const secret = await client.push('The pool is in tax/pool.ts, the password in the vault.', {
    encrypted: true,
    metadata: { summary: 'Where things are' },
  });
  const once = await client.push('read once: deploy token rotated', {
    maxPulls: 1,
    metadata: { summary: 'Burns after reading' },
  });
  return { secret, once };
}

/** Creates a working and an idle bridge, and an agent that only reads. */
async function fillBridges(agent: Agents, running: string, signal: AbortSignal): Promise<void> {
  const laptop = agent('claude-laptop');
  const heldUrls: string[] = [];
  void (async () => {
    const work = laptop.channels.subscribe('agent-tasks', { group: TASK_GROUP, since: 'all', signal });
    for await (const { seq, token, url } of work) {
      if (url?.includes(running)) {
        heldUrls.push(url);
        await laptop.pointers.pull(running);
      } else await laptop.channels.ack('agent-tasks', TASK_GROUP, { seq, token: token! });
      if (heldUrls.length > 0) return;
    }
  })().catch(() => {});
  await until(() => heldUrls.length > 0);
  await laptop.agents.beat('claude-laptop', { ...bridge('a1', 'exec', 'claude -p'), running: [running] });
  await laptop.agents.beat('codex-server', bridge('b2', 'tmux', 'codex:0'));
  await laptop.inbox.follow('notebook', 'reviews');
}

function bridge(instance: string, runner: string, target: string): Bridge {
  return {
    instance,
    runner,
    target,
    task_channel: 'agent-tasks',
    done_channel: 'agent-done',
    concurrency: 1,
    running: [],
    done: 12,
    failed: 1,
    started_at: new Date().toISOString(),
  };
}
