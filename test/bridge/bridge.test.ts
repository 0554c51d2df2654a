import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { isRelayError } from '../../src/base/errors.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import type { BridgeEvent } from '../../src/client/bridge/options.ts';
import { generateFernetKey } from '../../src/formats/fernet.ts';
import { execRunner } from '../../src/runners/exec.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { startTestServer } from '../channels/server.ts';
import { until } from '../until.ts';
import { agent, block, client, startWorker } from './bridge.ts';

test('a task is sent and its outcome comes back', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(
    server,
    agent(({ prompt }) => ({ output: `${prompt}\n${block('all of it')}` })),
  );
  const answer = await new AgentBridge(client(server)).pushAndWait('Refactor the auth module.');
  assert.equal(answer, 'COMPLETED: all of it\nNOT_DONE: nothing\nNOTES: none');
});

test('without an outcome block the whole output comes back, and the result says so', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(
    server,
    agent(() => ({ output: 'just this\n' })),
  );
  const bridge = new AgentBridge(client(server));
  const answer = await bridge.sendAndWait('x');
  assert.equal(answer.text, 'just this');
  assert.equal((await client(server).peek(answer.url)).outcome, 'whole');
});

test('a command without outcome blocks gets the task unchanged, and its whole output comes back', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(server, execRunner({ command: 'cat; echo "===" $RELAY_TASK_ID' }), {
    plain: true,
  });
  const answer = await new AgentBridge(client(server)).sendAndWait('only this');
  assert.equal(answer.text, `only this=== ${answer.id}`);
});

test('20 waiters on one channel each get their own result', async () => {
  await using server = await startTestServer();
  const slowly = agent(async ({ text }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
    return { output: `done with ${text}` };
  });
  await using _a = await startWorker(server, slowly, { concurrency: 4 });
  await using _b = await startWorker(server, slowly, { concurrency: 4 });
  const shared = new AgentBridge(client(server));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => {
      // Half of the bridges share a connection, the others have their own.
      const bridge = i % 2 === 0 ? shared : new AgentBridge(client(server));
      return bridge.pushAndWait(`task ${i}`, { timeout: 20_000 });
    }),
  );
  assert.deepEqual(
    answers,
    Array.from({ length: 20 }, (_, i) => `done with task ${i}`),
  );
});

test('two bridges never run the same task', async () => {
  await using server = await startTestServer();
  const runs: string[] = [];
  const note = agent(({ text }) => {
    runs.push(text);
    return { output: text };
  });
  await using _a = await startWorker(server, note, { concurrency: 2 });
  await using _b = await startWorker(server, note, { concurrency: 2 });
  const bridge = new AgentBridge(client(server));
  await Promise.all(Array.from({ length: 30 }, (_, i) => bridge.pushAndWait(String(i))));
  assert.equal(runs.length, 30);
  assert.equal(new Set(runs).size, 30);
});

test('a task for a named agent is done by that agent', async () => {
  await using server = await startTestServer();
  await using _a = await startWorker(
    server,
    agent(() => ({ output: 'by anna' })),
    { name: 'anna' },
  );
  await using _b = await startWorker(
    server,
    agent(() => ({ output: 'by bert' })),
    { name: 'bert' },
  );
  const bridge = new AgentBridge(client(server));
  for (const to of ['anna', 'bert', 'anna']) assert.equal(await bridge.pushAndWait('x', { to }), `by ${to}`);
});

test('an agent that fails, throws or does not exist gives a failed result', async () => {
  await using server = await startTestServer();
  const runners = [
    [agent(() => ({ output: 'half', failed: 'it broke' })), /it broke/],
    [
      agent(() => {
        throw new Error('the session is gone');
      }),
      /the session is gone/,
    ],
    [execRunner({ command: 'no-such-command-at-all' }), /exit code 127/],
  ] as const;
  for (const [runner, why] of runners) {
    await using _ = await startWorker(server, runner);
    await assert.rejects(new AgentBridge(client(server)).pushAndWait('x'), (error: Error) => {
      assert.ok(isRelayError(error, 'task_failed'));
      assert.match(error.message, why);
      return true;
    });
  }
});

test('an agent that takes too long is stopped with all its child processes, and the result is failed', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(server, execRunner({ command: 'echo begun; sleep 600 | cat' }), {
    timeout: 300,
  });
  const answer = await new AgentBridge(client(server)).sendAndWait('x');
  assert.equal(answer.status, 'failed');
  assert.match(answer.text, /longer than 0.3 s/);
  assert.match(answer.text, /begun/);
});

test('tasks of senders that are not allowed are refused with an answer', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(
    server,
    agent(() => ({ output: 'obeyed' })),
    { from: ['boss'] },
  );
  const answer = await new AgentBridge(client(server)).sendAndWait('x');
  assert.equal(answer.status, 'failed');
  assert.match(answer.text, /does not accept tasks from "local"/);
});

test('a sender that gave up can ask again by id', async () => {
  await using server = await startTestServer();
  const bridge = new AgentBridge(client(server));
  const sentTask = await bridge.send('later');
  await assert.rejects(bridge.wait(sentTask.id, { timeout: 20 }), (error) => isRelayError(error, 'timeout'));
  await using _ = await startWorker(
    server,
    agent(({ text }) => ({ output: `did ${text}` })),
  );
  assert.equal((await bridge.wait(sentTask.id)).text, 'did later');
  // Another client can wait for the result by the task's URL, even after the task has ended.
  assert.equal((await new AgentBridge(client(server)).wait(sentTask.url)).text, 'did later');
});

test('a task that already has a result is not run again when it is redelivered', async () => {
  await using server = await startTestServer();
  const bridge = new AgentBridge(client(server));
  const { id } = await bridge.send('x');
  await client(server).tasks.done(id, { summary: 'done by hand' });
  let runs = 0;
  await using under = await startWorker(
    server,
    agent(() => {
      runs++;
      return { output: '' };
    }),
  );
  // When this later task is done, the bridge has handled the first one.
  await bridge.pushAndWait('next');
  assert.equal(runs, 1);
  assert.ok(under.events.some((event) => event.type === 'dropped' && event.id === id));
});

test('if the agent submits the result itself, the bridge does not submit another', async () => {
  await using server = await startTestServer();
  const ownClient = client(server);
  const runner = agent(async ({ id, settled }) => {
    await ownClient.tasks.done(id, { data: 'from the agent itself' });
    await until(() => settled.aborted);
    return { output: 'what was on the screen' };
  });
  await using _ = await startWorker(server, runner);
  assert.equal(await new AgentBridge(client(server)).pushAndWait('x'), 'from the agent itself');
  assert.equal((await ownClient.channels.inspect('agent-done')).messages, 1);
});

test('a bridge that stops gives its task back, and another bridge does it', async () => {
  await using server = await startTestServer();
  const begun = Promise.withResolvers<void>();
  const stuck = agent(({ signal }) => {
    begun.resolve();
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ output: 'stopped' })));
  });
  const first = await startWorker(server, stuck);
  const waiting = new AgentBridge(client(server)).pushAndWait('x');
  await begun.promise;
  await first[Symbol.asyncDispose]();
  await using _ = await startWorker(
    server,
    agent(() => ({ output: 'by the second' })),
  );
  assert.equal(await waiting, 'by the second');
});

test('an agent that starts later does the tasks that were sent before', async () => {
  await using server = await startTestServer();
  const waiting = new AgentBridge(client(server)).pushAndWait('early');
  await using _ = await startWorker(
    server,
    agent(({ text }) => ({ output: text })),
  );
  assert.equal(await waiting, 'early');
});

test('a bridge is listed with its current task, and leaves the list when it stops', async () => {
  await using server = await startTestServer();
  const begun = Promise.withResolvers<string>();
  const finish = Promise.withResolvers<void>();
  const under = await startWorker(
    server,
    agent(async ({ id }) => {
      begun.resolve(id);
      await finish.promise;
      return { output: 'x' };
    }),
    { name: 'robot' },
  );
  const bridge = new AgentBridge(client(server));
  const waiting = bridge.pushAndWait('x');
  const id = await begun.promise;
  const { tasks, agents } = client(server);
  assert.equal((await tasks.get(id)).agent, 'robot');
  assert.deepEqual((await agents.list()).agents[0]!.bridge!.running, [id]);
  finish.resolve();
  await waiting;
  await under[Symbol.asyncDispose]();
  assert.deepEqual((await agents.list()).agents, []);
});

test('only clients that have the channel keys can read an encrypted task and its result', async () => {
  await using server = await startTestServer();
  const key = () => generateFernetKey(systemEnv);
  const channelKeys = { 'agent-tasks': key(), 'agent-done': key() };
  const insider = () => new ContextRelay({ baseUrl: server.url, channelKeys });
  const runner = agent(({ text }) => ({ output: `read: ${text}` }));
  const bridge = new AgentBridge(insider(), { runner, encrypted: true });
  await using _ = await bridge.start();
  const answer = await new AgentBridge(insider()).sendAndWait('a secret', { encrypted: true });
  assert.equal(answer.text, 'read: a secret');
  assert.equal((await new AgentBridge(insider()).wait(answer.id)).text, 'read: a secret');
  await assert.rejects(new AgentBridge(client(server)).wait(answer.id), (error) =>
    isRelayError(error, 'key_missing'),
  );
});

test('a task that the bridge cannot decrypt gives a failed result', async () => {
  await using server = await startTestServer();
  await using _ = await startWorker(
    server,
    agent(() => ({ output: 'never' })),
  );
  const answer = await new AgentBridge(client(server)).sendAndWait('a secret', { encrypted: true });
  assert.equal(answer.status, 'failed');
  assert.match(answer.text, /could not be read/);
});

test('a task that takes longer than a lease stays with its bridge', async () => {
  await using server = await startTestServer({ channels: { leaseMs: 600 } });
  let runs = 0;
  const slow = agent(async () => {
    runs++;
    const { groups } = await server.relay.channels.inspect('agent-tasks');
    const { lease_until } = groups[0]!.leases[0]!;
    // Wait until the original lease is over. If it was not extended, the other bridge gets the task now.
    await until(() => Date.now() > Date.parse(lease_until) + 600);
    return { output: 'at last' };
  });
  await using _a = await startWorker(server, slow);
  await using _b = await startWorker(server, slow);
  assert.equal(await new AgentBridge(client(server)).pushAndWait('x'), 'at last');
  assert.equal(runs, 1);
});

test('a bridge that lost its lease to another bridge drops its own result', async () => {
  await using server = await startTestServer({ channels: { leaseMs: 600 } });
  const begun = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const asleep = Promise.withResolvers<void>();
  const events: BridgeEvent[] = [];
  const runner = agent(async ({ signal }) => {
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    stopped.resolve();
    return { output: 'too late' };
  });
  // Simulates a machine that sleeps longer than its lease. When it wakes up, it learns that it lost the task.
  const sleepy: typeof fetch = async (url, o) => {
    if (String(url).endsWith('/extend')) await asleep.promise;
    return fetch(url, o);
  };
  const relay = new ContextRelay({ baseUrl: server.url, fetch: sleepy });
  const onEvent = (event: BridgeEvent) => void events.push(event);
  await using _first = await new AgentBridge(relay, { runner, onEvent }).start();
  const waiting = new AgentBridge(client(server)).pushAndWait('x');
  await begun.promise;
  await using _second = await startWorker(
    server,
    agent(() => ({ output: 'in time' })),
  );
  assert.equal(await waiting, 'in time');
  asleep.resolve();
  await stopped.promise;
  assert.equal((await client(server).channels.inspect('agent-done')).messages, 1);
  assert.ok(!events.some(({ type }) => type === 'result'));
});

test('binary output of a command is the result, byte for byte', async () => {
  await using server = await startTestServer();
  const command = "printf '\\377\\376\\000\\001'";
  await using _ = await startWorker(server, execRunner({ command }), { plain: true });
  const answer = await new AgentBridge(client(server)).sendAndWait('draw it');
  assert.match(answer.text, /^\(binary output: relay pull /);
  assert.deepEqual([...(await client(server).pullBytes(answer.url))], [255, 254, 0, 1]);
});

test('a second bridge with the same name warns', async () => {
  await using server = await startTestServer();
  const idle = agent(() => ({ output: '' }));
  await using first = await startWorker(server, idle, { name: 'reviewer' });
  await using second = await startWorker(server, idle, { name: 'reviewer' });
  const warned = (events: readonly BridgeEvent[]) =>
    events.some((event) => event.type === 'trouble' && /Another bridge named "reviewer"/.test(event.what));
  assert.deepEqual([warned(first.events), warned(second.events)], [false, true]);
});
