import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent } from '@mastra/core/agent';
import { MastraLanguageModelV2Mock, simulateReadableStream } from '@mastra/core/test-utils/llm-mock';
import { createTool } from '@mastra/core/tools';
import {
  assertReadInPart,
  LARGE_LOG,
  pointerIn,
  type Scene,
  startScene,
} from '../../../test/integrations/scene.ts';
import { contextRelayTools, largeResultProcessor } from './index.ts';

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

type Move = { tool: string; input: object } | string;
type Call = Parameters<MastraLanguageModelV2Mock['doStream']>[0];

/** Plays the moves; each is told what the last tool answered, as the model was shown it. */
function playing(moves: ((shown: string) => Move)[]): { model: MastraLanguageModelV2Mock; calls: Call[] } {
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
  const model = new MastraLanguageModelV2Mock({
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
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
  return { model, calls };
}

/** The answers of tools as they stand in a prompt. */
function shownIn({ prompt }: Call): string[] {
  return prompt
    .flatMap((message) => (message.role === 'tool' ? message.content : []))
    .flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
    .map(({ value }) => (typeof value === 'string' ? value : JSON.stringify(value)));
}

function agent(model: MastraLanguageModelV2Mock, more: object = {}): Agent {
  const tools = contextRelayTools(scene.relay);
  return new Agent({ id: 'reader', name: 'reader', instructions: 'Read.', model, tools, ...more } as never);
}

test('an agent pushes a text, and another one that is given the URL pulls it', async () => {
  const writing = playing([
    () => ({ tool: 'push_context', input: { data: 'the findings' } }),
    (shown) => `See ${shown}`,
  ]);
  const url = pointerIn((await agent(writing.model).generate('write it down')).text);
  const reading = playing([() => ({ tool: 'pull_context', input: { url } }), (shown) => `It says: ${shown}`]);
  assert.equal((await agent(reading.model).generate(`read ${url}`)).text, 'It says: the findings');
});

test('a megabyte that a tool answers reaches the model as a pointer, of which it reads one line', async () => {
  const { model, calls } = playing([
    () => ({ tool: 'read_log', input: {} }),
    (shown) => ({ tool: 'pull_context', input: { url: pointerIn(shown), part: 'grep=payment .* refused' } }),
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
