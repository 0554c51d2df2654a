import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../src/base/json.ts';
import { parsePointer } from '../../src/contract/pointer-url.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { overHttp, overStdio, type TestClient, textOf } from './clients.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
let relay: RelayUnderTest;
let agent: ContextRelay;
before(async () => {
  relay = await startRelay();
  agent = new ContextRelay({ baseUrl: relay.url });
});
after(() => relay[Symbol.asyncDispose]());

/** Reads one task as an agent and answers it in the given way. */
async function answerOne(channel: string, done: string, how: 'newer' | 'older' | 'failed'): Promise<string> {
  for await (const message of agent.channels.subscribe(channel, { since: 'all' })) {
    const task = await agent.pull(message.url!);
    const task_id = parsePointer(message.url!).id;
    // A result of another task on the same channel must be ignored.
    await agent.push('not yours', { channel: done, metadata: { task_id: 'another', status: 'done' } });
    // Wait, because a result without a task id counts only if it arrives after the client began to wait.
    if (how === 'older') await pause(500);
    const status = how === 'failed' ? 'failed' : 'done';
    const metadata: JsonObject =
      how === 'older' ? { summary: 'did it' } : { task_id, status, summary: 'did it' };
    await agent.push(`result of: ${task}`, { channel: done, metadata });
    return task_id;
  }
  throw new Error('no task came');
}

const ways: [string, () => Promise<TestClient>][] = [
  ['stdio', () => overStdio(home.home, '2025-11-25', { env: { CONTEXTRELAY_URL: relay.url } })],
  ['HTTP, 2025', () => overHttp(relay.url, '2025-11-25')],
  ['HTTP, 2026', () => overHttp(relay.url, '2026-07-28')],
];
for (const [way, connect] of ways) {
  describe(`bridge_task over ${way}`, () => {
    let mcp: TestClient;
    before(async () => {
      mcp = await connect();
    });
    after(() => mcp[Symbol.asyncDispose]());
    const names = (kind: string) => ({
      task_channel: `tasks ${way} ${kind}`,
      done_channel: `done ${way} ${kind}`,
    });

    test('sends a task to a listening agent and waits for its result, not for another', async () => {
      const channels = names('newer');
      const answered = answerOne(channels.task_channel, channels.done_channel, 'newer');
      const progressMessages: string[] = [];
      const result = await mcp.client.callTool(
        { name: 'bridge_task', arguments: { task: 'add a test', ...channels, timeout: 20 } },
        { onprogress: ({ message }) => progressMessages.push(message ?? '') },
      );
      assert.equal(textOf(result), 'result of: add a test');
      assert.match(progressMessages[0]!, /: (stored|notified|pulled)/);
      await answered;
    });

    test('accepts the next result of an older bridge, which does not name its task', async () => {
      const channels = names('older');
      const answered = answerOne(channels.task_channel, channels.done_channel, 'older');
      assert.equal(
        await mcp.call('bridge_task', { task: 'old', ...channels, timeout: 20 }),
        'result of: old',
      );
      await answered;
    });

    test('says that a task failed', async () => {
      const channels = names('failed');
      const answered = answerOne(channels.task_channel, channels.done_channel, 'failed');
      const call = { name: 'bridge_task', arguments: { task: 'hard', ...channels, timeout: 20 } };
      const result = await mcp.client.callTool(call);
      assert.equal(textOf(result), 'The task failed: result of: hard');
      assert.equal(result.isError, true);
      await answered;
    });

    test('shows an excerpt of a result that exceeds the budget, with the failure in it', async () => {
      const channels = names('long');
      const answer = await mcp.call('bridge_task', { task: 'run the tests', ...channels, wait: false });
      const [, task] = /^Sent as (\S+)\. /.exec(answer)!;
      const lines = Array.from(
        { length: 9_000 },
        (_, i) => `${i} compiled module number ${i} without trouble`,
      );
      lines[4_321] = 'AssertionError: expected 3 apples, got 4';
      const metadata = { task_id: task!, status: 'done' };
      await agent.push(lines.join('\n'), { channel: channels.done_channel, metadata });
      const output = await mcp.call('task_result', { task });
      assert.match(output, /^Not pulled: [\d,]+ bytes/);
      assert.match(output, /^4322 AssertionError: expected 3 apples, got 4$/m);
    });

    test('names the channel of the result if none came in time', async () => {
      const channels = names('nobody');
      const answer = await mcp.call('bridge_task', { task: 'alone', ...channels, timeout: 1 });
      assert.match(
        answer,
        /^Error bridging the task: No result within 1 s\. No agent listens on tasks .*done .*task_result/,
      );
    });

    test('stops waiting when the client cancels the call', async () => {
      const channels = names('cancelled');
      const stop = new AbortController();
      const call = { name: 'bridge_task', arguments: { task: 'never mind', ...channels, timeout: 60 } };
      const waiting = mcp.client.callTool(call, { signal: stop.signal });
      for await (const _task of agent.channels.subscribe(channels.task_channel, { since: 'all' })) break;
      stop.abort();
      await assert.rejects(waiting);
      assert.match(await mcp.call('push_context', { data: 'still alive' }), /^http/);
    });
  });
}
