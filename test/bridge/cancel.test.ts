import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive } from '../../src/app/serve/pid-file.ts';
import { isRelayError } from '../../src/base/errors.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { a2aBridgeRunner } from '../../src/runners/a2a.ts';
import { execRunner } from '../../src/runners/exec.ts';
import { a2aClient, BINDINGS, request, stateOf } from '../a2a/agents.ts';
import { openTestCore } from '../channels/core.ts';
import { startTestServer } from '../channels/server.ts';
import { relay, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { agent, client, startWorker } from './bridge.ts';
import { startProgram } from './processes.ts';

/** A command that never ends, with a background process. It writes the pids of both processes to a file. */
const ENDLESS = 'sleep 600 & echo $$ $! > pids; wait';

async function pidsIn(folder: string): Promise<number[]> {
  let pids: number[] = [];
  await until(() => {
    try {
      pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split(' ').map(Number);
    } catch {}
    return pids.length === 2;
  });
  return pids;
}

const waitForEnd = (pids: readonly number[]) =>
  until(() => pids.every((pid) => !isAlive({ pid, birth: null })));

test('a canceled task ends with all its child processes, names who canceled it, and does not count as done', async () => {
  using scratch = temporaryHome();
  await using server = await startTestServer();
  const runner = execRunner({ command: ENDLESS, cwd: scratch.home });
  await using under = await startWorker(server, runner, { name: 'robot' });
  const bridge = new AgentBridge(client(server));
  const waiting = bridge.sendAndWait('work for ever');
  const pids = await pidsIn(scratch.home);
  const { tasks, agents, channels } = client(server);
  const { id } = (await tasks.list()).tasks[0]!;
  await until(async () => (await tasks.get(id)).agent === 'robot');

  const result = await tasks.cancel(id, { reason: 'not wanted any more' });
  assert.deepEqual([result.status, result.by], ['canceled', 'local']);
  await waitForEnd(pids);
  const answer = await waiting;
  assert.deepEqual([answer.status, answer.text], ['canceled', 'Canceled by local: not wanted any more']);
  await until(() => under.events.some((event) => event.type === 'dropped' && event.id === id));
  const task = await tasks.get(id);
  assert.deepEqual([task.state, task.result?.by, task.agent], ['canceled', 'local', 'robot']);
  assert.ok(!under.events.some(({ type }) => type === 'result'));
  assert.deepEqual(
    (await agents.list()).agents.map(({ bridge }) => [bridge?.done, bridge?.failed]),
    [[0, 0]],
  );
  assert.equal((await channels.inspect('agent-done')).messages, 1);
  // Canceling again changes nothing; a later result is rejected.
  assert.equal((await tasks.cancel(id)).url, result.url);
  await assert.rejects(tasks.done(id, { summary: 'late' }), (error) => isRelayError(error, 'conflict'));
});

test('a task still names its bridge after the bridge has stopped', async () => {
  await using server = await startTestServer();
  {
    await using _ = await startWorker(
      server,
      agent(() => ({ output: 'x' })),
      { name: 'robot' },
    );
    await new AgentBridge(client(server)).pushAndWait('x');
  }
  const { tasks } = await client(server).tasks.list();
  assert.deepEqual(
    tasks.map(({ state, agent }) => [state, agent]),
    [['done', 'robot']],
  );
});

test('a task that is canceled before it is claimed is never delivered and is not a dead letter', async () => {
  await using server = await startTestServer();
  const bridge = new AgentBridge(client(server));
  const { id } = await bridge.send('too late');
  await client(server).tasks.cancel(id);
  const texts: string[] = [];
  const note = agent(({ text }) => {
    texts.push(text);
    return { output: text };
  });
  await using under = await startWorker(server, note);
  await bridge.pushAndWait('next');
  assert.deepEqual(texts, ['next']);
  assert.ok(!under.events.some((event) => event.type === 'task' && event.id === id));
  assert.equal((await client(server).channels.inspect('agent-tasks.dead')).messages, 0);
});

test('when a cancel and a result race, one of them wins and everyone sees the same outcome', async () => {
  await using under = openTestCore();
  const { tasks, channels } = under.relay;
  for (let round = 0; round < 10; round++) {
    const { id } = await under.relay.pointers.push({
      body: new TextEncoder().encode('x'),
      channel: 'agent-tasks',
    });
    const both = round % 2 ? ['done', 'cancel'] : ['cancel', 'done'];
    const tried = await Promise.allSettled(both.map((way) => tasks[way as 'done' | 'cancel'](id)));
    const won = tried.flatMap((each) => (each.status === 'fulfilled' ? [each.value.status] : []));
    assert.equal(won.length, 1);
    assert.equal((await tasks.get(id)).state, won[0]);
  }
  assert.equal((await channels.inspect('agent-done')).messages, 10);
});

test('a bridge in another process stops a canceled task, also after the server restarted', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  const first = await startTestServer();
  const env = { CONTEXTRELAY_URL: first.url };
  await using bridge = startProgram(['bridge', 'start', '--exec', ENDLESS, '--name', 'far'], { home, env });
  await bridge.line(/bridge far/);
  const { id } = await new AgentBridge(client(first)).send('work for ever');
  const pids = await pidsIn(home);
  await first.stop();
  await using second = await startTestServer({ core: first.core, port: Number(new URL(first.url).port) });
  const canceled = await relay(['task', 'cancel', id, 'enough'], { home, env });
  assert.deepEqual([canceled.code, canceled.stdout], [0, 'Canceled by local: enough\n']);
  await waitForEnd(pids);
  await bridge.line(new RegExp(`${id}  Canceled by local: enough`));
  assert.equal((await client(second).tasks.get(id)).state, 'canceled');
  const waited = await relay(['task', 'wait', id], { home, env });
  assert.equal(waited.code, 1);
  assert.match(waited.stderr, /was canceled/);
  await first.core[Symbol.asyncDispose]();
});

test('without a server, one process can cancel a task that another process runs', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  await using bridge = startProgram(['bridge', 'start', '--exec', ENDLESS], { home });
  await bridge.line(/^[\d:]+ bridge /);
  const id = (await relay(['bridge', 'send', 'work for ever'], { home })).stdout.trim();
  const pids = await pidsIn(home);
  assert.equal((await relay(['task', 'cancel', id], { home })).code, 0);
  await waitForEnd(pids);
});

for (const binding of BINDINGS) {
  test(`CancelTask over ${binding} stops the work`, async () => {
    using scratch = temporaryHome();
    await using server = await startTestServer();
    const runner = execRunner({ command: ENDLESS, cwd: scratch.home });
    await using under = await startWorker(server, runner);
    const caller = await a2aClient(server.url, binding);
    const task = await caller.sendMessage(request('work for ever', { immediately: true }));
    assert.ok('artifacts' in task);
    const pids = await pidsIn(scratch.home);
    const canceled = await caller.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    assert.equal(stateOf(canceled), 'canceled');
    await waitForEnd(pids);
    await until(() => under.events.some((event) => event.type === 'dropped' && event.id === task.id));
    const canceledTask = await client(server).tasks.get(task.id);
    assert.deepEqual([canceledTask.state, canceledTask.result?.summary], ['canceled', 'Canceled by local.']);
  });
}

for (const streaming of [true, false]) {
  test(`a canceled task is also stopped behind A2A (${streaming ? 'streaming' : 'not streaming'})`, async () => {
    using scratch = temporaryHome();
    await using theirs = await startTestServer();
    await using _there = await startWorker(theirs, execRunner({ command: ENDLESS, cwd: scratch.home }));
    await using card = await cardServer(theirs.url, { streaming });
    await using ours = await startTestServer();
    await using _here = await startWorker(ours, a2aBridgeRunner(card.url));
    const { id } = await new AgentBridge(client(ours)).send('work for ever');
    const pids = await pidsIn(scratch.home);
    await client(ours).tasks.cancel(id);
    await waitForEnd(pids);
  });
}

/** Serves the card of a relay's agent with other capabilities. */
async function cardServer(url: string, capabilities: object) {
  const card = await (
    await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'A2A-Version': '1.0' } })
  ).json();
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ ...card, capabilities: { ...card.capabilities, ...capabilities } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/card.json`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
