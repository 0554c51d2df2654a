import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent } from '@mastra/core/agent';
import { MockMemory } from '@mastra/core/memory';
import type { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock';
import { createTool } from '@mastra/core/tools';
import { assertHandOver, QUESTION } from '../../../test/integrations/hand-over.ts';
import {
  assertReadInPart,
  embedded,
  LARGE_LOG,
  pointerIn,
  type Scene,
  startScene,
} from '../../../test/integrations/scene.ts';
import { ContextRelayStorage, contextRelayTools, largeResultProcessor } from './index.ts';

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

type Move = { tool: string; input: object } | string;
/** Use only the types of Mastra's mock, because its code needs `msw`, which Mastra does not install. */
type Call = Parameters<MastraLanguageModelV2Mock['doStream']>[0];

/**
 * Returns a model that makes the moves in order. A move gets the last tool result and returns the answer of
 * the model.
 */
function playing(moves: ((prompt: string) => Move)[]): { model: object; calls: Call[] } {
  const calls: Call[] = [];
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const answer = (call: Call) => {
    calls.push(call);
    const move = moves[calls.length - 1]!(shownIn(call).at(-1) ?? '');
    return typeof move === 'string'
      ? ([{ type: 'text', text: move }, 'stop'] as const)
      : ([
          {
            type: 'tool-call',
            toolCallId: `call-${calls.length}`,
            toolName: move.tool,
            input: JSON.stringify(move.input),
          },
          'tool-calls',
        ] as const);
  };
  const model = {
    specificationVersion: 'v2',
    provider: 'fake',
    modelId: 'fake',
    supportedUrls: {},
    doGenerate: async (call: Call) => {
      const [content, finishReason] = answer(call);
      return { content: [content], finishReason, usage, warnings: [] };
    },
    doStream: async (call: Call) => {
      const [content, finishReason] = answer(call);
      const parts =
        content.type === 'text'
          ? [
              { type: 'text-start' as const, id: '1' },
              { type: 'text-delta' as const, id: '1', delta: content.text },
              { type: 'text-end' as const, id: '1' },
            ]
          : [content];
      const chunks = [
        { type: 'stream-start' as const, warnings: [] },
        ...parts,
        { type: 'finish' as const, finishReason, usage },
      ];
      const stream = new ReadableStream({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(chunk);
          controller.close();
        },
      });
      return { stream };
    },
  };
  return { model, calls };
}

/** Returns the tool results in a prompt. */
function shownIn({ prompt }: Call): string[] {
  return prompt
    .flatMap((message) => (message.role === 'tool' ? message.content : []))
    .flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
    .map(({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)));
}

function agent(model: object, more: object = {}): Agent {
  const tools = contextRelayTools(scene.relay);
  return new Agent({ id: 'reader', name: 'reader', instructions: 'Read.', model, tools, ...more } as never);
}

test('an agent pushes a text, and another agent that gets the URL pulls it', async () => {
  const writing = playing([
    () => ({ tool: 'push_context', input: { data: 'the findings' } }),
    (prompt) => `See ${prompt}`,
  ]);
  const url = pointerIn((await agent(writing.model).generate('write it down')).text);
  const reading = playing([
    () => ({ tool: 'pull_context', input: { url } }),
    (prompt) => `It says: ${prompt}`,
  ]);
  assert.equal((await agent(reading.model).generate(`read ${url}`)).text, 'It says: the findings');
});

test('a tool result of a megabyte reaches the model as a pointer, and the model reads one line of it', async () => {
  const { model, calls } = playing([
    () => ({ tool: 'read_log', input: {} }),
    (prompt) => ({
      tool: 'pull_context',
      input: { url: pointerIn(prompt), part: 'grep=payment .* refused' },
    }),
    () => 'The card has expired.',
  ]);
  const readLog = createTool({
    id: 'read_log',
    description: 'the log of today',
    execute: async () => LARGE_LOG,
  });
  const reader = agent(model, {
    tools: { read_log: readLog, ...contextRelayTools(scene.relay) },
    inputProcessors: [largeResultProcessor(scene.relay)],
  });
  assert.equal((await reader.generate('why was payment 4711 refused?')).text, 'The card has expired.');
  const [instead, read] = shownIn(calls.at(-1)!);
  assertReadInPart(instead!, read!);
  assert.ok(JSON.stringify(calls.map(({ prompt }) => prompt)).length < 40_000);
});

test('a conversation continues with another client, and the framework finds its messages', async () => {
  const first = new ContextRelayStorage(scene.relay);
  const options = { memory: { thread: 'talk 1', resource: 'ada' } };
  const talk = (storage: ContextRelayStorage, reply: string) => {
    const { model, calls } = playing([() => reply]);
    return {
      calls,
      speaker: agent(model, { tools: {}, memory: new MockMemory({ storage: storage as never }) }),
    };
  };
  await talk(first, 'Hello Ada.').speaker.generate('I am Ada.', options);
  const second = new ContextRelayStorage(embedded(scene.server));
  const { calls, speaker } = talk(second, 'Ada.');
  await speaker.generate('Who am I?', options);
  const sentPrompt = JSON.stringify(calls[0]!.prompt);
  assert.ok(sentPrompt.includes('I am Ada.') && sentPrompt.includes('Hello Ada.'), sentPrompt);
  const memory = (await second.getStore('memory'))!;
  const { messages, total } = await memory.listMessages({ threadId: 'talk 1', perPage: 2, page: 0 });
  assert.equal(total, 4);
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant'],
  );
  assert.ok(messages[0]!.createdAt instanceof Date);
  const { threads } = await memory.listThreads({ filter: { resourceId: 'ada' } });
  assert.deepEqual(
    threads.map(({ id }) => id),
    ['talk 1'],
  );
});

test('threads, messages and resources can be stored, changed, copied and deleted', async () => {
  const memory = (await new ContextRelayStorage(scene.relay, { space: 'mastra-domain' }).getStore('memory'))!;
  const other = (await new ContextRelayStorage(embedded(scene.server), { space: 'mastra-domain' }).getStore(
    'memory',
  ))!;
  const now = new Date('2026-11-17T08:00:00Z');
  const thread = {
    id: 't/1',
    resourceId: 'r',
    title: 'one',
    createdAt: now,
    updatedAt: now,
    metadata: { a: 1 },
  };
  await memory.saveThread({ thread });
  const message = (id: string, second: number) => ({
    id,
    threadId: 't/1',
    resourceId: 'r',
    role: 'user' as const,
    createdAt: new Date(now.getTime() + second * 1000),
    content: { format: 2 as const, parts: [{ type: 'text' as const, text: `says ${id}` }] },
  });
  await Promise.all([
    memory.saveMessages({ messages: [message('m1', 1)] }),
    other.saveMessages({ messages: [message('m2', 2)] }),
  ]);
  assert.deepEqual(
    (await other.listMessages({ threadId: 't/1' })).messages.map(({ id }) => id),
    ['m1', 'm2'],
  );
  const edits = ['b', 'c', 'd'].map((name) => other.updateThread({ id: 't/1', metadata: { [name]: 2 } }));
  await Promise.all(edits);
  assert.deepEqual((await memory.getThreadById({ threadId: 't/1' }))?.metadata, { a: 1, b: 2, c: 2, d: 2 });
  await memory.updateMessages({ messages: [{ id: 'm2', content: { metadata: { seen: true } } as never }] });
  const [seen] = (await other.listMessagesById({ messageIds: ['m2'] })).messages;
  assert.deepEqual(seen!.content.metadata, { seen: true });
  const copy = await memory.cloneThread({ sourceThreadId: 't/1', newThreadId: 't/2' });
  assert.equal((await other.listMessages({ threadId: copy.thread.id })).total, 2);
  await memory.deleteMessages(['m1']);
  assert.equal((await other.listMessages({ threadId: 't/1' })).total, 1);
  await memory.updateResource({ resourceId: 'r', workingMemory: 'likes figs' });
  assert.equal((await other.getResourceById({ resourceId: 'r' }))?.workingMemory, 'likes figs');
  await memory.deleteThread({ threadId: 't/1' });
  assert.equal(await other.getThreadById({ threadId: 't/1' }), null);
  await other.dangerouslyClearAll();
  assert.equal((await scene.relay.files.space('mastra-domain').list()).files.length, 0);
});

test('a hand-over costs as many tokens as the page says', () =>
  assertHandOver('mastra', async (result, options) => {
    const { model, calls } = playing([() => ({ tool: 'read_log', input: {} }), () => 'done']);
    const read_log = createTool({
      id: 'read_log',
      description: 'the log of today',
      execute: async () => result,
    });
    const reader = agent(model, {
      tools: { read_log, ...contextRelayTools(scene.relay) },
      inputProcessors: [largeResultProcessor(scene.relay, options)],
    });
    await reader.generate(QUESTION);
    return calls.at(-1)!.prompt;
  }));
