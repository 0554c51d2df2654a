import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { a2aBridgeRunner } from '../../src/runners/a2a/bridge-runner.ts';
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

test('an agent that fails there is a failed result here, and one that is not there is told at once', async () => {
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
