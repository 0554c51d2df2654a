import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { generateText, jsonSchema, stepCountIs, tool, wrapLanguageModel } from 'ai';
import * as mocks from 'ai/test';
import { assertHandOver, QUESTION } from '../../../test/integrations/hand-over.ts';
import {
  assertReadInPart,
  LARGE_LOG,
  pointerIn,
  type Scene,
  startScene,
} from '../../../test/integrations/scene.ts';
import { contextRelayTools, largeResultMiddleware } from './index.ts';

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

/** Mock model for version 4 of the model interface, or for version 3, the newest one in AI SDK 6. */
const MockModel = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;
type MockModel = mocks.MockLanguageModelV4;
type Call = Parameters<MockModel['doGenerate']>[0];
type Move = { tool: string; input: object } | string;

/**
 * Returns a fake model that makes the moves in order. A move gets the last tool result and returns the answer
 * of the model.
 */
function playing(moves: ((prompt: string) => Move)[]): MockModel {
  let turn = 0;
  return new MockModel({
    doGenerate: async (call) => {
      const move = moves[turn++]!(shownIn(call).at(-1) ?? '');
      return {
        content: [
          typeof move === 'string'
            ? { type: 'text' as const, text: move }
            : {
                type: 'tool-call' as const,
                toolCallId: `call-${turn}`,
                toolName: move.tool,
                input: JSON.stringify(move.input),
              },
        ],
        finishReason: {
          unified: typeof move === 'string' ? ('stop' as const) : ('tool-calls' as const),
          raw: undefined,
        },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 1, text: 1, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
}

/** Returns the tool results in a prompt. */
function shownIn({ prompt }: Call): string[] {
  return prompt
    .flatMap((message) => (message.role === 'tool' ? message.content : []))
    .flatMap((part) => (part.type === 'tool-result' ? [part.output] : []))
    .map((output) =>
      'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output),
    );
}

test('a model pushes a text, and another model that gets the URL pulls it', async () => {
  const tools = contextRelayTools(scene.relay);
  const stopWhen = stepCountIs(5);
  const written = await generateText({
    model: playing([
      () => ({ tool: 'push_context', input: { data: 'the findings' } }),
      (prompt) => `See ${prompt}`,
    ]),
    tools,
    stopWhen,
    prompt: 'write it down',
  });
  const url = pointerIn(written.text);
  const read = await generateText({
    model: playing([() => ({ tool: 'pull_context', input: { url } }), (prompt) => `It says: ${prompt}`]),
    tools,
    stopWhen,
    prompt: `read ${url}`,
  });
  assert.equal(read.text, 'It says: the findings');
});

for (const [kind, log] of [
  ['text', LARGE_LOG],
  ['JSON', { lines: LARGE_LOG.split('\n') }],
] as const) {
  test(`a tool result of a megabyte of ${kind} reaches the model as a pointer, and the model reads one line of it`, async () => {
    const mock = playing([
      () => ({ tool: 'read_log', input: {} }),
      (replacement) => ({
        tool: 'pull_context',
        input: {
          url: pointerIn(replacement),
          part: kind === 'text' ? 'grep=payment .* refused' : 'json=/lines/13000',
        },
      }),
      () => 'The card has expired.',
    ]);
    const { text, steps } = await generateText({
      model: wrapLanguageModel({ model: mock, middleware: largeResultMiddleware(scene.relay) }),
      tools: {
        ...contextRelayTools(scene.relay),
        read_log: tool({
          inputSchema: jsonSchema({ type: 'object', properties: {} }),
          execute: async () => log,
        }),
      },
      stopWhen: stepCountIs(5),
      prompt: 'why was payment 4711 refused?',
    });
    assert.equal(text, 'The card has expired.');
    const [instead, read] = shownIn(mock.doGenerateCalls.at(-1)!);
    if (kind === 'text') assertReadInPart(instead!, read!);
    assert.match(read!, /payment 4711 refused/);
    assert.ok(JSON.stringify(mock.doGenerateCalls).length < 40_000, 'the model never saw all of it');
    assert.equal(shownIn(mock.doGenerateCalls[1]!)[0], instead, 'each step shows the same');
    assert.deepEqual(steps[0]!.toolResults[0]!.output, log, 'the program has the result itself');
  });
}

test('a hand-over costs as many tokens as the page says', () =>
  assertHandOver('ai', async (result, options) => {
    const mock = playing([() => ({ tool: 'read_log', input: {} }), () => 'done']);
    await generateText({
      model: wrapLanguageModel({ model: mock, middleware: largeResultMiddleware(scene.relay, options) }),
      tools: {
        ...contextRelayTools(scene.relay),
        read_log: tool({
          inputSchema: jsonSchema({ type: 'object', properties: {} }),
          execute: async () => result,
        }),
      },
      stopWhen: stepCountIs(5),
      prompt: QUESTION,
    });
    return mock.doGenerateCalls.at(-1)!.prompt;
  }));
