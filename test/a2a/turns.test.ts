import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Message } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { a2aClient, BINDINGS, request, says, startAgent, stateOf, taskOf, threadsOf } from './agents.ts';
import { receiver, webhookAt } from './receiver.ts';

/** Checks of the official A2A test kit about messages, tasks and contexts, and further rules of the specification. */

const textOf = ({ parts }: Pick<Message, 'parts'>) =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : `(${content?.$case})`)).join();

for (const binding of BINDINGS) {
  describe(`turns of a task over ${binding}`, () => {
    let relay: RelayUnderTest;
    let client: Client;
    before(async () => {
      relay = await startRelay({ server: { loopbackWebhooks: true } });
      client = await a2aClient(relay.url, binding);
    });
    after(() => relay[Symbol.asyncDispose]());
    const ask = () =>
      startAgent(relay.url, ({ text }) =>
        text.includes('enough') ? says('COMPLETED', 'done') : says('INPUT_REQUIRED', `more than "${text}"?`),
      );

    test('an agent asks, the client answers, and both messages are in one task and one thread', async () => {
      await using agent = await ask();
      const waitingTask = taskOf(
        await client.sendMessage(request('book a flight', { messageId: 'm-first' })),
      );
      assert.equal(stateOf(waitingTask), 'input_required');
      assert.equal(textOf(waitingTask.status!.message!), 'more than "book a flight"?');
      const { id: taskId, contextId } = waitingTask;
      const done = taskOf(await client.sendMessage(request('enough', { taskId, messageId: 'm-second' })));
      assert.equal(stateOf(done), 'completed');
      assert.equal(done.id, taskId);
      assert.equal(done.contextId, contextId);
      assert.deepEqual(done.history.map(textOf), ['book a flight', 'more than "book a flight"?', 'enough']);
      const [first, second] = agent.jobs.map(({ message }) => message!);
      assert.deepEqual([first!.id, first!.taskId, first!.contextId], ['m-first', taskId, contextId]);
      assert.deepEqual([second!.id, second!.taskId, second!.contextId], ['m-second', taskId, contextId]);
      assert.equal(second!.json.taskId, taskId);
      assert.match(agent.jobs[1]!.text, /The sender: book a flight\n\nYou: more than[\s\S]*says:\n\nenough$/);
      const events = await threadsOf(relay).events(contextId);
      const types = events.events.map(({ type }) => type).filter((type) => type.startsWith('a2a.'));
      assert.deepEqual(
        types.map((type) => type.slice('a2a.task.'.length)),
        ['submitted', 'input_required', 'continued', 'completed'],
      );
    });

    test('the history has the requested number of messages, the newest ones', async () => {
      await using _agent = await ask();
      const { id } = taskOf(await client.sendMessage(request('one')));
      await client.sendMessage(request('two', { taskId: id }));
      const last = request('enough', { taskId: id });
      last.configuration!.historyLength = 0;
      assert.deepEqual(taskOf(await client.sendMessage(last)).history, []);
      const historyTexts = async (historyLength?: number) =>
        (await client.getTask({ tenant: '', id, historyLength })).history.map(textOf);
      assert.deepEqual(await historyTexts(1), ['enough']);
      assert.deepEqual(await historyTexts(0), []);
      assert.deepEqual(
        (await historyTexts()).filter((text) => !text.startsWith('more')),
        ['one', 'two', 'enough'],
      );
    });

    test('a stream ends when the agent asks, a subscription when the task ends', async () => {
      await using _agent = await ask();
      const states: string[] = [];
      let taskId = '';
      for await (const { payload } of client.sendMessageStream(request('begin'))) {
        if (payload?.$case === 'task') taskId = payload.value.id;
        if (payload?.$case === 'task' || payload?.$case === 'statusUpdate')
          states.push(stateOf(payload.value));
      }
      assert.equal(states[0], 'submitted');
      assert.equal(states.at(-1), 'input_required');
      const seenStates: string[] = [];
      let answered = false;
      for await (const { payload } of client.resubscribeTask({ tenant: '', id: taskId })) {
        if (payload?.$case === 'task' || payload?.$case === 'statusUpdate')
          seenStates.push(stateOf(payload.value));
        if (!answered) await client.sendMessage(request('enough', { taskId, immediately: true }));
        answered = true;
      }
      assert.equal(seenStates[0], 'input_required');
      assert.equal(seenStates.at(-1), 'completed');
    });

    test('every stream of a task reports all state changes in the same order', async () => {
      await using _agent = await ask();
      const taskId = taskOf(await client.sendMessage(request('begin'))).id;
      const open = async () => {
        const stream = client.resubscribeTask({ tenant: '', id: taskId });
        const { value } = await stream.next();
        return { stream, events: [value!] };
      };
      const abandoned = await open();
      await abandoned.stream.return();
      const streams = [await open(), await open()].map(async ({ stream, events }) => {
        for await (const event of stream) events.push(event);
        return events;
      });
      await client.sendMessage(request('more', { taskId }));
      await client.sendMessage(request('enough', { taskId }));
      const [one, two] = await Promise.all(streams);
      assert.deepEqual(one, two);
      const states = one!.flatMap(({ payload }) =>
        payload?.$case === 'task' || payload?.$case === 'statusUpdate' ? [stateOf(payload.value)] : [],
      );
      assert.deepEqual(states, ['input_required', 'working', 'input_required', 'working', 'completed']);
    });

    test('a message to a task that is missing, ended, working or in another context is refused', async () => {
      const failing = (o: Parameters<typeof request>[1], why: RegExp) =>
        assert.rejects(client.sendMessage(request('x', o)), (error: Error) =>
          why.test(`${error.name} ${error}`),
        );
      for (const taskId of [crypto.randomUUID(), 'tck-nonexistent'])
        await failing({ taskId }, /TaskNotFound/);
      const waiting = taskOf(await client.sendMessage(request('nobody is there', { immediately: true })));
      await failing({ taskId: waiting.id }, /UnsupportedOperation.*only when it asks/);
      await client.cancelTask({ tenant: '', id: waiting.id, metadata: undefined });
      await failing({ taskId: waiting.id }, /UnsupportedOperation.*has ended/);
      await failing({ taskId: waiting.id, contextId: 'another' }, /does not belong to the context/);
    });

    test('a task that asks can be cancelled, and then accepts no answer', async () => {
      await using _agent = await ask();
      const { id } = taskOf(await client.sendMessage(request('begin')));
      await client.sendMessage(request('more', { taskId: id }));
      const canceled = await client.cancelTask({ tenant: '', id, metadata: undefined });
      assert.equal(stateOf(canceled), 'canceled');
      await assert.rejects(client.sendMessage(request('enough', { taskId: id })), /ended \(canceled\)/);
      await assert.rejects(client.cancelTask({ tenant: '', id, metadata: undefined }), /canceled/);
    });

    test('a repeated message is the same task, and one with other content is a new task', async () => {
      await using _agent = await ask();
      const messageId = `reused-${binding}`;
      const one = taskOf(await client.sendMessage(request('hello', { messageId })));
      const same = taskOf(await client.sendMessage(request('hello', { messageId })));
      const other = taskOf(await client.sendMessage(request('good bye', { messageId })));
      assert.equal(same.id, one.id);
      assert.notEqual(other.id, one.id);
      const answer = request('enough', { messageId, taskId: one.id });
      assert.equal(stateOf(taskOf(await client.sendMessage(answer))), 'completed');
      assert.equal(stateOf(taskOf(await client.sendMessage(answer))), 'completed');
      // The client has answered the first task, so it received the answer to its message. The relay therefore does not
      // treat the repeated message as a retry, and starts a new task.
      const anew = taskOf(await client.sendMessage(request('hello', { messageId })));
      assert.notEqual(anew.id, one.id);
      assert.equal(stateOf(anew), 'input_required');
    });

    test('a context id chosen by the client is kept and is one thread', async () => {
      await using _agent = await startAgent(relay.url, () =>
        says('COMPLETED', 'made', [{ name: 'x', parts: [{ text: 'a result' }] }]),
      );
      const contextId = `own-context-${binding}`;
      const [one, two] = [await client.sendMessage(request('mine, one', { contextId }))].concat(
        await client.sendMessage(request('mine, two', { contextId })),
      );
      assert.deepEqual([one!.contextId, two!.contextId], [contextId, contextId]);
      assert.notEqual(taskOf(one!).id, taskOf(two!).id);
      const threads = threadsOf(relay);
      const ownThreads = (await threads.list()).threads.filter(({ name }) => name?.startsWith('mine'));
      assert.deepEqual(
        await Promise.all(
          ownThreads.map(async ({ thread_id }) => (await threads.artifacts(thread_id)).artifacts.length),
        ),
        [2],
      );
      await assert.rejects(
        client.sendMessage(request('x', { contextId: 'c'.repeat(257) })),
        /256 characters/,
      );
      await assert.rejects(client.sendMessage(request('x', { messageId: 'a\nb' })), /control character/);
    });

    test('a webhook is notified when the agent asks and when the task ends', async () => {
      await using hook = await receiver();
      await using _agent = await ask();
      const messageRequest = request('tell me');
      messageRequest.configuration!.taskPushNotificationConfig = webhookAt(hook.url);
      const { id: taskId } = taskOf(await client.sendMessage(messageRequest));
      await hook.until('TASK_STATE_INPUT_REQUIRED');
      await using later = await receiver();
      const again = { ...messageRequest, configuration: { ...messageRequest.configuration! } };
      again.configuration.taskPushNotificationConfig = webhookAt(later.url);
      assert.equal(taskOf(await client.sendMessage(again)).id, taskId);
      await client.sendMessage(request('enough', { taskId }));
      await hook.until('TASK_STATE_COMPLETED');
      await later.until('TASK_STATE_COMPLETED');
      assert.match(later.received[0]!.body, /TASK_STATE_(WORKING|COMPLETED)/);
    });
  });
}
