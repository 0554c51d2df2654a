import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { AcpRunner } from '../../src/runners/acp.ts';
import { startTestServer } from '../channels/server.ts';
import { until } from '../until.ts';
import { client, startWorker } from './bridge.ts';

const command = `${process.execPath} ${resolve(import.meta.dirname, 'scripts/acp-agent.ts')}`;

test('an ACP agent does tasks concurrently, each in its own session', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(server, new AcpRunner({ command }), { concurrency: 3 });
  const bridge = new AgentBridge(client(server));
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) => bridge.pushAndWait(`Write ${'x'.repeat(i * 1000)}`)),
  );
  for (const answer of answers)
    assert.match(answer, /^COMPLETED: \d+ characters\nNOT_DONE: nothing\nNOTES: none$/);
  assert.equal(new Set(answers).size, 6);
});

test('a refusal, a crash and a hang are failed results, and the next task runs', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(server, new AcpRunner({ command }), { timeout: 1_500 });
  const bridge = new AgentBridge(client(server));
  const failures = [
    ['refuse', /refused the task/],
    ['die', /ended with exit code 3/],
    ['hang', /longer than 1.5 s/],
  ] as const;
  for (const [word, why] of failures) {
    const answer = await bridge.sendAndWait(word);
    assert.equal(answer.status, 'failed', word);
    assert.match(answer.text, why);
  }
  assert.equal((await bridge.sendAndWait('go on')).status, 'done');
});

test('canceling a task cancels its session, and the agent continues', async () => {
  await using server = await startTestServer();
  await using under = await startWorker(server, new AcpRunner({ command }));
  const bridge = new AgentBridge(client(server));
  const { id } = await bridge.send('hang');
  await until(async () => (await client(server).tasks.get(id)).state === 'running');
  await client(server).tasks.cancel(id);
  assert.equal((await bridge.sendAndWait('go on')).status, 'done');
  assert.ok(under.events.some((event) => event.type === 'dropped' && event.why === 'Canceled by local.'));
});

test('without a person to ask, an agent may read but not write, unless the bridge is configured otherwise', async () => {
  await using server = await startTestServer();
  const bridge = new AgentBridge(client(server));
  const permissionAnswers = async (allow: 'all' | 'reads' | 'none') => {
    await using _ = await startWorker(server, new AcpRunner({ command, allow }));
    return await Promise.all(['read', 'write'].map((word) => bridge.pushAndWait(word)));
  };
  assert.deepEqual(await permissionAnswers('reads'), ['may I read: yes', 'may I write: no']);
  assert.deepEqual(await permissionAnswers('all'), ['may I read: yes', 'may I write: yes']);
  assert.deepEqual(await permissionAnswers('none'), ['may I read: no', 'may I write: no']);
});

test('an agent that does not start is reported at once', async () => {
  const runner = new AcpRunner({ command: 'echo no such agent >&2; exit 9' });
  await assert.rejects(runner.open(), /exit code 9: no such agent/);
  await runner.close();
});
