import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type StreamResponse, TaskState } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';
import { a2aClient, answerTasks, BINDINGS, request, resultOf, stateOf, threadsOf } from './agents.ts';

for (const binding of BINDINGS) {
  describe(`an A2A client over ${binding}`, () => {
    let relay: RelayUnderTest;
    let client: Client;
    before(async () => {
      relay = await startRelay();
      client = await a2aClient(relay.url, binding);
      assert.equal(client.transport.protocolName, binding);
    });
    after(() => relay[Symbol.asyncDispose]());

    test('sends a task, waits, and gets the result of a bridge', async () => {
      await using _bridge = answerTasks(relay.url, (task) => `done: ${task}`);
      const task = await client.sendMessage(request('add a test'));
      assert.ok('artifacts' in task);
      assert.equal(stateOf(task), 'completed');
      assert.equal(resultOf(task), 'done: add a test');
      assert.equal(task.history.length, 1);
    });

    test('the context is a thread, and the result is an artifact of it', async () => {
      await using _bridge = answerTasks(relay.url, () => 'the result');
      const first = await client.sendMessage(request('begin'));
      assert.ok('artifacts' in first);
      const second = await client.sendMessage(request('go on', { contextId: first.contextId }));
      assert.ok('artifacts' in second);
      assert.equal(second.contextId, first.contextId);
      const thread = threadsOf(relay);
      const { artifacts } = await thread.artifacts(first.contextId);
      assert.deepEqual(
        artifacts.map(({ ref }) => ref).sort(),
        [first, second].map((task) => task.artifacts[0]!.artifactId).sort(),
      );
    });

    test('an encrypted result is announced and not pulled', async () => {
      const ownClient = new ContextRelay({ baseUrl: relay.url });
      const sending = client.sendMessage(request('keep it secret'));
      let id = '';
      await until(async () => {
        const { tasks } = await ownClient.tasks.list({ state: 'queued' });
        id = tasks.find(({ summary }) => summary === 'keep it secret')?.id ?? '';
        return id !== '';
      });
      const metadata = { task_id: id, status: 'done' };
      const options = { channel: 'agent-done', encrypted: true, maxPulls: 1, metadata };
      const url = await ownClient.push('the secret', options);
      const task = await sending;
      assert.ok('artifacts' in task);
      assert.equal(stateOf(task), 'completed');
      assert.deepEqual(task.artifacts, []);
      const [part] = task.status!.message!.parts;
      assert.ok(part?.content?.$case === 'text');
      assert.match(part.content.value, /is encrypted/);
      assert.ok(part.content.value.includes(url.split('#')[0]!));
      assert.equal(await ownClient.pull(url), 'the secret');
    });

    test('a task that failed says why', async () => {
      await using _bridge = answerTasks(relay.url, () => {
        throw new Error('no such file');
      });
      const task = await client.sendMessage(request('break'));
      assert.ok('artifacts' in task);
      assert.equal(stateOf(task), 'failed');
      assert.match(JSON.stringify(task.status?.message?.parts), /no such file/);
    });

    test('streams the progress of a task', async () => {
      const events: StreamResponse[] = [];
      let bridge: AsyncDisposable | null = null;
      for await (const event of client.sendMessageStream(request('stream'))) {
        events.push(event);
        bridge ??= answerTasks(relay.url, () => 'streamed');
      }
      await bridge![Symbol.asyncDispose]();
      const kinds = events.map(({ payload }) => payload!.$case);
      assert.equal(kinds[0], 'task');
      assert.deepEqual(kinds.slice(-2), ['artifactUpdate', 'statusUpdate']);
      const last = events.at(-1)!.payload!;
      assert.ok(last.$case === 'statusUpdate');
      assert.equal(stateOf(last.value), 'completed');
    });

    test('gets, lists and cancels a task, and cannot cancel it twice', async () => {
      const task = await client.sendMessage(request('never done', { immediately: true }));
      assert.ok('artifacts' in task);
      assert.equal(stateOf(task), 'submitted');
      assert.equal(stateOf(await client.getTask({ tenant: '', id: task.id })), 'submitted');
      const listed = await client.listTasks({
        tenant: '',
        contextId: task.contextId,
        status: TaskState.TASK_STATE_UNSPECIFIED,
        pageToken: '',
        statusTimestampAfter: undefined,
      });
      assert.deepEqual(
        listed.tasks.map(({ id }) => id),
        [task.id],
      );
      const canceled = await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
      assert.equal(stateOf(canceled), 'canceled');
      await assert.rejects(client.cancelTask({ tenant: '', id: task.id, metadata: undefined }), /canceled/);
      await assert.rejects(client.getTask({ tenant: '', id: crypto.randomUUID() }), /not found/i);
    });

    test('a canceled task is given to no agent', async () => {
      const task = await client.sendMessage(request('too late', { immediately: true }));
      assert.ok('artifacts' in task);
      await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
      const pull = await fetch(`${relay.url}/pull/${task.id}`);
      assert.equal(pull.status, 404);
    });

    test('subscribes again to a running task', async () => {
      const task = await client.sendMessage(request('again', { immediately: true }));
      assert.ok('artifacts' in task);
      const states: string[] = [];
      let bridge: AsyncDisposable | null = null;
      for await (const { payload } of client.resubscribeTask({ tenant: '', id: task.id })) {
        if (payload?.$case === 'task' || payload?.$case === 'statusUpdate')
          states.push(stateOf(payload.value));
        bridge ??= answerTasks(relay.url, () => 'at last');
      }
      await bridge![Symbol.asyncDispose]();
      assert.equal(states[0], 'submitted');
      assert.equal(states.at(-1), 'completed');
      await assert.rejects(async () => {
        for await (const _event of client.resubscribeTask({ tenant: '', id: task.id })) break;
      }, /has ended/);
    });

    test('a repeated message is the same task', async () => {
      const twice = request('once', { immediately: true });
      const [one, two] = [await client.sendMessage(twice), await client.sendMessage(twice)];
      assert.ok('artifacts' in one && 'artifacts' in two);
      assert.equal(one.id, two.id);
      await client.cancelTask({ tenant: '', id: one.id, metadata: undefined });
      // The client has cancelled the first task, so it received the answer to its message. The relay therefore does not
      // treat the repeated message as a retry, and starts a new task.
      const anew = await client.sendMessage(twice);
      assert.ok('artifacts' in anew);
      assert.notEqual(anew.id, one.id);
      await client.cancelTask({ tenant: '', id: anew.id, metadata: undefined });
    });
  });
}
