import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { ResultWaiters } from '../../src/sdk/result-waiters.ts';
import { connect, type ServerUnderTest, startTestServer } from '../channels/server.ts';
import { agent, block, client, startWorker } from './bridge.ts';

/** Does what old orchestrators do: pushes the task, takes the next message on the done channel and pulls it. */
async function oldPushAndWait(server: ServerUnderTest, task: string): Promise<string> {
  await using socket = await connect(`${server.ws}/ws/agent-done`);
  await server.post('/push', { data: task, channel: 'agent-tasks' });
  const [first] = await socket.take(1);
  return (await server.get(new URL(first.url).pathname)).json.data;
}

/** Does what old coordinators do: takes every task and pushes the answer without a task id. */
async function oldCoordinator(server: ServerUnderTest): Promise<AsyncDisposable> {
  const socket = await connect(`${server.ws}/ws/agent-tasks`);
  socket.socket.on('message', async (data) => {
    const { url } = JSON.parse(String(data));
    const task = (await server.get(new URL(url).pathname)).json.data;
    await server.post('/push', { data: `old style: ${task}`, channel: 'agent-done' });
  });
  return socket;
}

test('an old orchestrator that sends no task ids is still served by a bridge', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(
    server,
    agent(({ text }) => ({ output: `x\n${block(text)}` })),
  );
  for (const task of ['one', 'two']) {
    assert.equal(await oldPushAndWait(server, task), `COMPLETED: ${task}\nNOT_DONE: nothing\nNOTES: none`);
  }
});

test('an old orchestrator also gets failures, instead of waiting forever', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(
    server,
    agent(() => ({ output: 'so far', failed: 'it broke' })),
  );
  assert.equal(await oldPushAndWait(server, 'x'), 'it broke\n\nso far');
});

test('a new orchestrator accepts the answer of an old coordinator that sends no task id', async () => {
  await using server = await startTestServer();
  await using _ = await oldCoordinator(server);
  assert.equal(await new AgentBridge(client(server)).pushAndWait('hello'), 'old style: hello');
});

test('an answer without a task id that arrives before anybody waits for it is not lost', async () => {
  await using server = await startTestServer();
  const relay = client(server);
  using listening = await new ResultWaiters(relay).listen('agent-done');
  const { signal } = new AbortController();
  const noise = await relay.pushDetailed('of something before', { channel: 'agent-done' });
  const task = await relay.pushDetailed('hello', { channel: 'agent-tasks' });
  const other = await relay.pushDetailed('another', { channel: 'agent-tasks' });
  const answer = await relay.pushDetailed('old style: hello', { channel: 'agent-done' });
  // The channel delivers in order: when this result has arrived, the old answer has arrived too.
  await relay.tasks.done(other.id, { summary: 'done' });
  await listening.wait(other.id, { signal });
  const received = await listening.wait(task.id, { signal, unmarked: true });
  assert.deepEqual([received?.url, received?.url === noise.url], [answer.url, false]);
});

test('an unrelated push to the done channel is not the answer to a task that a bridge runs', async () => {
  await using server = await startTestServer();
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  await using _ = await startWorker(
    server,
    agent(async () => {
      begun.resolve();
      await finish.promise;
      return { output: 'the real one' };
    }),
  );
  const waiting = new AgentBridge(client(server)).pushAndWait('x');
  await begun.promise;
  await server.post('/push', { data: 'noise', channel: 'agent-done' });
  finish.resolve();
  assert.equal(await waiting, 'the real one');
});
