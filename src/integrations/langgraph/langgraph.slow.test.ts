import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { Annotation, Command, DeltaValue, interrupt, StateGraph, StateSchema } from '@langchain/langgraph';
import type { SerializerProtocol } from '@langchain/langgraph-checkpoint';
import { createAgent, fakeModel } from 'langchain';
import * as z from 'zod';
import checkpointsOf020 from '../../../test/fixtures/langgraph-checkpoints-0.2.0.json' with { type: 'json' };
import { assertHandOver, QUESTION } from '../../../test/integrations/hand-over.ts';
import {
  embedded,
  LARGE_LOG,
  NEEDLE,
  pointerIn,
  type Scene,
  startScene,
} from '../../../test/integrations/scene.ts';
import { ContextRelay } from '../../sdk/context-relay.ts';
import { largeResultMiddleware } from '../langchain/index.ts';
import { ContextRelaySaver, ContextRelayStore } from './index.ts';

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const inThread = (thread_id: string) => ({ configurable: { thread_id } });

/** Counts the files of each kind in a space: checkpoints, values, writes. */
async function filesOf(space: string): Promise<{ c: number; v: number; w: number }> {
  const found = { c: 0, v: 0, w: 0 };
  for await (const { path } of scene.relay.files.space(space).all())
    found[path.split('/')[1] as 'c' | 'v' | 'w']++;
  return found;
}

test('a graph that waits for a person continues in another process with another client', async () => {
  const State = Annotation.Root({ question: Annotation<string>, answer: Annotation<string> });
  const graph = (relay: ContextRelay) =>
    new StateGraph(State)
      .addNode('ask', ({ question }) => ({
        answer: `${question} ${interrupt<string, string>('a person, please')}`,
      }))
      .addEdge('__start__', 'ask')
      .compile({ checkpointer: new ContextRelaySaver(relay) });
  const paused = await graph(scene.relay).invoke({ question: 'Shall we?' }, inThread('person'));
  const { __interrupt__: waiting } = paused as unknown as { __interrupt__: { value: string }[] };
  assert.deepEqual(
    waiting.map(({ value }) => value),
    ['a person, please'],
  );
  const elsewhere = new ContextRelay({ baseUrl: scene.server.url });
  const { answer } = await graph(elsewhere).invoke(new Command({ resume: 'We shall.' }), inThread('person'));
  assert.equal(answer, 'Shall we? We shall.');
  const state = await graph(embedded(scene.server)).getState(inThread('person'));
  assert.equal(state.values.answer, answer, 'embedded, it is the same relay');
});

test('branches of a thread keep their own values', async () => {
  const State = Annotation.Root({
    said: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  });
  const graph = new StateGraph(State)
    .addNode('say', ({ said }) => ({ said: [`after ${said.at(-1)}`] }))
    .addEdge('__start__', 'say')
    .compile({ checkpointer: new ContextRelaySaver(scene.relay) });
  await graph.invoke({ said: ['one'] }, inThread('forked'));
  const { config } = await graph.getState(inThread('forked'));
  const left = await graph.invoke({ said: ['left'] }, config);
  const right = await graph.invoke({ said: ['right'] }, config);
  assert.deepEqual(left.said, ['one', 'after one', 'left', 'after left']);
  assert.deepEqual(right.said, ['one', 'after one', 'right', 'after right']);
  const ends: string[] = [];
  for await (const { values, next } of graph.getStateHistory(inThread('forked')))
    if (next.length === 0) ends.push(values.said.join(' '));
  assert.deepEqual(ends.slice(0, 2), [right.said.join(' '), left.said.join(' ')]);
});

const DeltaState = new StateSchema({
  log: new DeltaValue(
    z.array(z.string()).default(() => []),
    {
      reducer: (state: string[], writes: string[][]) => [...state, ...writes.flat()],
      snapshotFrequency: 4,
    },
  ),
  turn: z.number().default(0),
});

test('pruning keeps the newest checkpoint, and the ancestors that channels stored as changes need', async () => {
  const saver = new ContextRelaySaver(scene.relay, { space: 'pruned' });
  const graph = new StateGraph(DeltaState)
    .addNode('step', ({ turn }) => ({ log: [`step ${turn}`], turn: turn + 1 }))
    .addEdge('__start__', 'step')
    .compile({ checkpointer: saver });
  const log: string[] = [];
  let pruned = 0;
  for (let turn = 0; turn < 9; turn++) {
    await graph.invoke({ log: [`input ${turn}`] }, inThread('long'));
    log.push(`input ${turn}`, `step ${turn}`);
    const before = await filesOf('pruned');
    await saver.prune(['long'], { strategy: 'keep_latest' });
    const { values } = await graph.getState(inThread('long'));
    assert.deepEqual(values.log, log, `after turn ${turn}`);
    assert.equal(values.turn, turn + 1);
    const left = await filesOf('pruned');
    pruned += before.c - left.c;
    // Each turn writes three checkpoints, and every second turn a full value of the channel.
    assert.ok(left.c <= 7 && left.v <= 12, `after turn ${turn} there are ${JSON.stringify(left)}`);
  }
  assert.ok(pruned >= 20, `${pruned} checkpoints were pruned`);
  await saver.prune(['long'], { strategy: 'delete' });
  assert.deepEqual(await filesOf('pruned'), { c: 0, v: 0, w: 0 });
});

test('pruning keeps one checkpoint if no channel is stored as changes', async () => {
  const State = Annotation.Root({ turn: Annotation<number> });
  const saver = new ContextRelaySaver(scene.relay, { space: 'pruned-plain' });
  const graph = new StateGraph(State)
    .addNode('step', ({ turn }) => ({ turn: turn + 1 }))
    .addEdge('__start__', 'step')
    .compile({ checkpointer: saver });
  for (const turn of [1, 10, 100]) await graph.invoke({ turn }, inThread('plain'));
  await saver.prune(['plain'], { strategy: 'keep_latest' });
  assert.equal((await filesOf('pruned-plain')).c, 1);
  assert.equal((await graph.getState(inThread('plain'))).values.turn, 101);
  assert.equal((await graph.invoke({ turn: 5 }, inThread('plain'))).turn, 6, 'and it goes on from there');
});

test('a checkpoint with a missing value is an error, and is not read as complete', async () => {
  const State = Annotation.Root({ name: Annotation<string>, turn: Annotation<number> });
  const saver = new ContextRelaySaver(scene.relay, { space: 'missing-value' });
  const graph = new StateGraph(State)
    .addNode('step', ({ turn }) => ({ turn: turn + 1 }))
    .addEdge('__start__', 'step')
    .compile({ checkpointer: saver });
  await graph.invoke({ name: LARGE_LOG, turn: 1 }, inThread('missing'));
  await graph.invoke({ turn: 5 }, inThread('missing'));
  await scene.relay.files.space('missing-value').remove({ prefix: 'missing/v/_/' });
  const expectedError = { code: 'not_found', message: /the value of the channel "name"/ };
  await assert.rejects(saver.getTuple(inThread('missing')), expectedError);
  await assert.rejects(graph.invoke({ turn: 7 }, inThread('missing')), expectedError);
});

test('a large value is shared, and a listing reads only as many checkpoints as it was asked for', async () => {
  const requests: string[] = [];
  const relay = new ContextRelay({
    baseUrl: scene.server.url,
    onRequest: ({ path }) => requests.push(path),
  });
  const State = Annotation.Root({
    text: Annotation<string>,
    constant: Annotation<string>,
    turn: Annotation<number>,
  });
  const saver = new ContextRelaySaver(relay, { space: 'stored-once' });
  const graph = new StateGraph(State)
    .addNode('step', ({ turn }) => ({ text: `${turn} `.repeat(10_000), turn: turn + 1 }))
    .addEdge('__start__', 'step')
    .addConditionalEdges('step', ({ turn }) => (turn < 20 ? 'step' : '__end__'), ['step', '__end__'])
    .compile({ checkpointer: saver });
  await graph.invoke(
    { text: '', constant: 'constant '.repeat(10_000), turn: 0 },
    { ...inThread('once'), recursionLimit: 100 },
  );
  // 21 values: the constant and the text of each of the 20 steps. The input is in the first checkpoint.
  assert.deepEqual(await filesOf('stored-once'), { c: 22, v: 21, w: 21 });
  const alone = requests.filter((path) => path.includes('/v/'));
  assert.deepEqual(alone, [], 'no large value needs a request of its own');
  requests.length = 0;
  const turns: number[] = [];
  for await (const { checkpoint } of saver.list(inThread('once'), { limit: 3 }))
    turns.push(checkpoint.channel_values.turn as number);
  assert.deepEqual(turns, [20, 19, 18]);
  assert.ok(requests.length <= 5, `a listing of 3 made ${requests.length} requests: ${requests.join(' ')}`);
  requests.length = 0;
  const all = [];
  for await (const { values } of graph.getStateHistory(inThread('once'))) all.push(values.text?.length);
  assert.equal(all.length, 22);
  assert.ok(requests.length <= 8, `the history made ${requests.length} requests: ${requests.join(' ')}`);
  requests.length = 0;
  await saver.prune(['once'], { strategy: 'keep_latest' });
  assert.ok(requests.length <= 10, `pruning made ${requests.length} requests: ${requests.join(' ')}`);
  assert.deepEqual(await filesOf('stored-once'), { c: 1, v: 2, w: 0 });
  const { values } = await graph.getState(inThread('once'));
  assert.deepEqual([values.turn, values.text.length, values.constant.length], [20, 30_000, 90_000]);
});

test('new large values are in the file of their checkpoint, whatever bytes they have', async () => {
  const zipped: SerializerProtocol = {
    dumpsTyped: async (value) => ['zip', gzipSync(JSON.stringify(value), { level: 0 })],
    loadsTyped: async (_, data) => JSON.parse(gunzipSync(data).toString()),
  };
  const State = Annotation.Root({ one: Annotation<string[]>, other: Annotation<string[]> });
  for (const [space, serde] of [
    ['below', undefined],
    ['below-zipped', zipped],
  ] as const) {
    const values = { one: [`${'ünusual\n'.repeat(2_000)}`], other: ['x'.repeat(40_000)] };
    const graph = new StateGraph(State)
      .addNode('end', () => ({}))
      .addEdge('__start__', 'end')
      .compile({ checkpointer: new ContextRelaySaver(scene.relay, { space, serde }) });
    await graph.invoke(values, { ...inThread('new'), durability: 'exit' });
    assert.deepEqual(await filesOf(space), { c: 1, v: 0, w: 0 });
    const elsewhere = new ContextRelaySaver(embedded(scene.server), { space, serde });
    const found = await elsewhere.getTuple(inThread('new'));
    assert.deepEqual(found?.checkpoint.channel_values, values);
  }
});

test('a thread that another process has deleted can be started again with the same large value', async () => {
  const State = Annotation.Root({ text: Annotation<string> });
  const graph = new StateGraph(State)
    .addNode('end', () => ({}))
    .addEdge('__start__', 'end')
    .compile({ checkpointer: new ContextRelaySaver(scene.relay, { space: 'deleted' }) });
  const text = 'x'.repeat(100_000);
  await graph.invoke({ text }, inThread('again'));
  await new ContextRelaySaver(scene.relay, { space: 'deleted' }).deleteThread('again');
  await graph.invoke({ text }, inThread('again'));
  const elsewhere = new ContextRelaySaver(scene.relay, { space: 'deleted' });
  const found = await elsewhere.getTuple(inThread('again'));
  assert.equal(found?.checkpoint.channel_values.text, text);
});

test('a channel stored as changes is not restored if one of its ancestors is missing', async () => {
  const saver = new ContextRelaySaver(scene.relay, { space: 'missing-ancestor' });
  const graph = new StateGraph(DeltaState)
    .addNode('step', ({ turn }) => ({ log: [`step ${turn}`], turn: turn + 1 }))
    .addEdge('__start__', 'step')
    .compile({ checkpointer: saver });
  await graph.invoke({ log: ['input'] }, inThread('long'));
  const space = scene.relay.files.space('missing-ancestor');
  const { files } = await space.list({ prefix: 'long/c/' });
  assert.deepEqual((await graph.getState(inThread('long'))).values.log, ['input', 'step 0']);
  await space.remove({ paths: [files[1]!.path] });
  const expectedError = {
    code: 'not_found',
    message: /The value of the channel "log" cannot be computed without it/,
  };
  await assert.rejects(graph.getState(inThread('long')), expectedError);
});

test('checkpoints of version 0.2.0 can be read and continued', async () => {
  const space = scene.relay.files.space('written-by-0.2.0');
  for (const { path, content } of checkpointsOf020.files) await space.put(path, content);
  const saver = new ContextRelaySaver(scene.relay, { space: 'written-by-0.2.0' });
  const State = Annotation.Root({ question: Annotation<string>, answer: Annotation<string> });
  const waiting = new StateGraph(State)
    .addNode('ask', ({ question }) => ({
      answer: `${question} ${interrupt<string, string>('a person, please')}`,
    }))
    .addEdge('__start__', 'ask')
    .compile({ checkpointer: saver });
  const { answer } = await waiting.invoke(new Command({ resume: 'We shall.' }), inThread('person'));
  assert.equal(answer, 'Shall we? We shall.');
  const graph = new StateGraph(DeltaState)
    .addNode('step', ({ turn }) => ({ log: [`step ${turn}`], turn: turn + 1 }))
    .addEdge('__start__', 'step')
    .compile({ checkpointer: saver });
  const log = ['input 0', 'step 0', 'input 1', 'step 1'];
  assert.deepEqual((await graph.getState(inThread('long'))).values, { log, turn: 2 });
  const after = await graph.invoke({ log: ['input 2'] }, inThread('long'));
  assert.deepEqual(after.log, [...log, 'input 2', 'step 2']);
});

test('a tool result of a megabyte is in no checkpoint; the agent reads one line of it, also after resuming', async () => {
  const readLog = tool(async () => LARGE_LOG, {
    name: 'read_log',
    description: 'the log of today',
    schema: { type: 'object', properties: {} },
  });
  const call = (name: string, args: object, id: string) =>
    new AIMessage({ content: '', tool_calls: [{ name, args: args as never, id, type: 'tool_call' }] });
  const agent = () =>
    createAgent({
      model: fakeModel()
        .respond((messages) =>
          messages.length === 1
            ? call('read_log', {}, '1')
            : call(
                'pull_context',
                { url: pointerIn(messages[2]!.text), part: 'grep=payment .* refused' },
                '2',
              ),
        )
        .respond((messages) => new AIMessage(messages.at(-1)!.text)),
      tools: [readLog],
      middleware: [largeResultMiddleware(scene.relay)],
      checkpointer: new ContextRelaySaver(scene.relay, { space: 'agent' }),
    });
  await agent().invoke({ messages: [new HumanMessage('what is in the log?')] }, inThread('log'));
  const { messages } = await agent().invoke(
    { messages: [new HumanMessage('and the payment?')] },
    inThread('log'),
  );
  assert.ok(messages.at(-1)!.text.includes(NEEDLE), messages.at(-1)!.text);
  let bytes = 0;
  for await (const { size } of scene.relay.files.space('agent').all()) bytes += size;
  assert.ok(bytes < 300_000, `the checkpoints take ${bytes} bytes`);
});

test('another agent finds what an agent puts into the store, over HTTP and embedded', async () => {
  const store = new ContextRelayStore(scene.relay);
  const user = ['users', 'ada'];
  await store.put(user, 'food', { text: 'likes figs and olives', kind: 'taste', times: 3 });
  await store.put(user, 'city', { text: 'lives in Turin', kind: 'place', times: 1 });
  await store.put(['users', 'bob'], 'food', { text: 'likes bread', kind: 'taste', times: 7 });
  await store.put([...user, 'notes'], 'a key / with ünusual % signs', { text: 'a note' });
  const other = new ContextRelayStore(embedded(scene.server));
  const food = await other.get(user, 'food');
  assert.deepEqual(food?.value, { text: 'likes figs and olives', kind: 'taste', times: 3 });
  assert.deepEqual([food!.namespace, food!.key], [user, 'food']);
  assert.ok(food!.createdAt <= food!.updatedAt);
  const keys = async (prefix: string[], o = {}) => (await other.search(prefix, o)).map(({ key }) => key);
  assert.deepEqual(await keys(user, { filter: { kind: 'place' } }), ['city']);
  assert.deepEqual(await keys(['users'], { filter: { times: { $gte: 3, $lt: 7 } } }), ['food']);
  assert.deepEqual(await keys(user, { query: 'where does she live: Turin?', limit: 1 }), ['city']);
  assert.deepEqual(await keys(['users', 'ada', 'notes']), ['a key / with ünusual % signs']);
  assert.deepEqual((await keys(['users'], { limit: 2, offset: 1 })).length, 2);
  assert.deepEqual(await other.listNamespaces({ prefix: ['users'], maxDepth: 2 }), [user, ['users', 'bob']]);
  assert.deepEqual(await other.listNamespaces({ suffix: ['notes'] }), [[...user, 'notes']]);
  await other.delete(user, 'food');
  assert.equal(await store.get(user, 'food'), null);
});

test('a hand-over costs as many tokens as the page says', () =>
  assertHandOver('langgraph', async (result, options) => {
    const model = fakeModel()
      .respond(
        new AIMessage({
          content: '',
          tool_calls: [{ name: 'read_log', args: {}, id: '1', type: 'tool_call' }],
        }),
      )
      .respond(new AIMessage('done'));
    const log = tool(async () => result, {
      name: 'read_log',
      description: 'the log of today',
      schema: { type: 'object', properties: {} },
    });
    const agent = createAgent({
      model,
      tools: [log],
      middleware: [largeResultMiddleware(scene.relay, options)],
      checkpointer: new ContextRelaySaver(scene.relay, { space: 'hand-over' }),
    });
    await agent.invoke({ messages: [new HumanMessage(QUESTION)] }, inThread(JSON.stringify(options)));
    return model.calls.at(-1)!.messages.map(({ text }) => text);
  }));
