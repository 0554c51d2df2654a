import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../src/base/json.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { a2aBridgeRunner } from '../../src/runners/a2a.ts';
import { a2aClient, request, says, startAgent, stateOf, taskOf } from '../a2a/agents.ts';
import { startTestServer } from '../channels/server.ts';
import { agent, block, client, startWorker } from './bridge.ts';

test('a task goes over A2A to an agent behind another relay, and its outcome comes back', async () => {
  await using theirs = await startTestServer();
  await using _worker = await startWorker(
    theirs,
    agent(({ text }) => ({ output: block(`did ${text.split('\n')[0]}`) })),
  );
  await using ours = await startTestServer();
  await using _bridge = await startWorker(ours, a2aBridgeRunner(theirs.url));
  const answer = await new AgentBridge(client(ours)).sendAndWait('this', { timeout: 30_000 });
  assert.equal(answer.status, 'done', answer.text);
  assert.match(answer.text, /COMPLETED: did this/);
});

test('the failure of a remote agent is a failed result here, and a missing agent is reported at once', async () => {
  await using theirs = await startTestServer();
  await using _worker = await startWorker(
    theirs,
    agent(() => ({ output: '', failed: 'it broke over there' })),
  );
  await using ours = await startTestServer();
  await using _bridge = await startWorker(ours, a2aBridgeRunner(theirs.url));
  const answer = await new AgentBridge(client(ours)).sendAndWait('this', { timeout: 30_000 });
  assert.equal(answer.status, 'failed');
  assert.match(answer.text, /it broke over there/);
  await assert.rejects(async () => a2aBridgeRunner('http://127.0.0.1:1/').open?.(), { code: 'agent_gone' });
});

test('parts, turns and contexts pass unchanged to an agent behind another relay', async () => {
  await using theirs = await startTestServer();
  const parts: JsonObject[] = [{ data: { seats: 2 } }, { raw: btoa('ticket'), filename: 'ticket.txt' }];
  await using otherAgent = await startAgent(theirs.url, ({ text }) =>
    text.includes('blue') ? says('COMPLETED', 'booked', [{ parts }]) : says('INPUT_REQUIRED', 'which one?'),
  );
  await using ours = await startTestServer();
  await using _bridge = await startWorker(ours, a2aBridgeRunner(theirs.url));
  const caller = await a2aClient(ours.url, 'JSONRPC');
  const waitingTask = taskOf(await caller.sendMessage(request('book a seat')));
  assert.equal(stateOf(waitingTask), 'input_required', JSON.stringify(waitingTask.status));
  assert.match(JSON.stringify(waitingTask.status), /which one\?/);
  const { id: taskId, contextId } = waitingTask;
  const done = taskOf(await caller.sendMessage(request('the blue one', { taskId })));
  assert.equal(stateOf(done), 'completed', JSON.stringify(done.status));
  const [figures, file] = done.artifacts[0]!.parts;
  assert.deepEqual(figures!.content, { $case: 'data', value: { seats: 2 } });
  assert.equal(file!.filename, 'ticket.txt');
  assert.equal(await (await fetch(file!.content!.value as string)).text(), 'ticket');
  await caller.sendMessage(request('another, blue', { contextId }));
  const [first, second, third] = otherAgent.jobs.map(({ message }) => message!);
  assert.equal(second!.taskId, first!.taskId);
  assert.equal(second!.contextId, first!.contextId);
  assert.notEqual(third!.taskId, first!.taskId);
  assert.equal(third!.contextId, first!.contextId);
});
