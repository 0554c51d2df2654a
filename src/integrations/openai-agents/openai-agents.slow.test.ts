import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent, Runner, tool } from '@openai/agents';
import {
  assistantMessage,
  functionCall,
  modelResponder,
  type RecordedModelCall,
  ScriptedModel,
} from '@openai/agents/testing';
import { assertHandOver, QUESTION } from '../../../test/integrations/hand-over.ts';
import {
  assertReadInPart,
  embedded,
  LARGE_LOG,
  pointerIn,
  type Scene,
  startScene,
} from '../../../test/integrations/scene.ts';
import { ContextRelaySession, contextRelayTools, largeResultFilter } from './index.ts';

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const runner = () => new Runner({ tracingDisabled: true });

/** Returns the tool results in a request. */
function shownIn(call: RecordedModelCall): string[] {
  const items = typeof call.request.input === 'string' ? [] : call.request.input;
  return items.flatMap((item) => {
    if (item.type !== 'function_call_result') return [];
    const { output } = item;
    return [
      typeof output === 'string' ? output : 'text' in output ? String(output.text) : JSON.stringify(output),
    ];
  });
}

const calling = (name: string, args: (result: string) => Record<string, unknown>) =>
  modelResponder((call) => [
    functionCall(name, args(shownIn(call).at(-1) ?? ''), { callId: `call-${call.index}` }),
  ]);
const saying = (reply: (result: string) => string) =>
  modelResponder((call) => [assistantMessage(reply(shownIn(call).at(-1) ?? ''))]);

test('an agent pushes a text, and another agent that gets the URL pulls it', async () => {
  const tools = contextRelayTools(scene.relay);
  const writer = new Agent({
    name: 'writer',
    tools,
    model: new ScriptedModel([
      calling('push_context', () => ({ data: 'the findings' })),
      saying((result) => `See ${result}`),
    ]),
  });
  const written = await runner().run(writer, 'write it down');
  const url = pointerIn(written.finalOutput!);
  const reader = new Agent({
    name: 'reader',
    tools,
    model: new ScriptedModel([
      calling('pull_context', () => ({ url })),
      saying((result) => `It says: ${result}`),
    ]),
  });
  assert.equal((await runner().run(reader, `read ${url}`)).finalOutput, 'It says: the findings');
});

test('a tool result of a megabyte reaches the model as a pointer, and the model reads one line of it', async () => {
  const model = new ScriptedModel([
    calling('read_log', () => ({})),
    calling('pull_context', (result) => ({ url: pointerIn(result), part: 'grep=payment .* refused' })),
    saying(() => 'The card has expired.'),
  ]);
  const readLog = tool({
    name: 'read_log',
    description: 'the log of today',
    strict: false,
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
    execute: async () => LARGE_LOG,
  });
  const agent = new Agent({ name: 'reader', model, tools: [readLog, ...contextRelayTools(scene.relay)] });
  const { finalOutput } = await runner().run(agent, 'why was payment 4711 refused?', {
    callModelInputFilter: largeResultFilter(scene.relay),
  });
  assert.equal(finalOutput, 'The card has expired.');
  const [instead, read] = shownIn(model.lastCall!);
  assertReadInPart(instead!, read!);
  assert.ok(JSON.stringify(model.calls.map(({ request }) => request.input)).length < 20_000);
  assert.equal(shownIn(model.calls[1]!)[0], instead, 'each step shows the same');
});

test('a conversation continues in another process with the same session', async () => {
  const sessionId = 'customer 7/ä';
  const turn = (reply: string) =>
    new Agent({ name: 'clerk', model: new ScriptedModel([saying(() => reply)]) });
  await runner().run(turn('Hello Ada.'), 'I am Ada.', {
    session: new ContextRelaySession(scene.relay, { sessionId }),
  });
  const session = new ContextRelaySession(embedded(scene.server), { sessionId });
  const again = turn('Ada.');
  await runner().run(again, 'Who am I?', { session });
  const lastInput = JSON.stringify((again.model as ScriptedModel).lastCall!.request.input);
  assert.ok(
    lastInput.includes('I am Ada.') && lastInput.includes('Hello Ada.') && lastInput.includes('Who am I?'),
    lastInput,
  );
  const items = await session.getItems();
  assert.equal(items.length, 4);
  assert.deepEqual(await session.getItems(1), items.slice(-1));
  assert.deepEqual(await session.getItems(3), items.slice(-3));
  assert.deepEqual(await session.popItem(), items.at(-1));
  assert.deepEqual(await session.getItems(), items.slice(0, -1));
  await session.clearSession();
  assert.deepEqual(await session.getItems(), []);
  assert.equal(await session.popItem(), undefined);
});

test('results that a session stores as pointers live as long as the session', async () => {
  const session = new ContextRelaySession(scene.relay, {
    sessionId: 'kept',
    ttl: 30 * 24 * 3600,
    largeResults: {},
  });
  const result = {
    type: 'function_call_result',
    callId: '1',
    name: 'read_log',
    status: 'completed',
  } as const;
  await session.addItems([{ ...result, output: LARGE_LOG }]);
  const { expires_at } = await scene.relay.inspect(pointerIn(JSON.stringify(await session.getItems())));
  for await (const file of scene.relay.files.space('openai-agents').all({ prefix: 'kept/' }))
    assert.ok(expires_at! >= file.expires_at!, `${expires_at} is before ${file.expires_at}`);
});

test('a hand-over costs as many tokens as the page says', () =>
  assertHandOver('openai-agents', async (result, options) => {
    const model = new ScriptedModel([calling('read_log', () => ({})), saying(() => 'done')]);
    const readLog = tool({
      name: 'read_log',
      description: 'the log of today',
      strict: false,
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
      execute: async () => result,
    });
    const agent = new Agent({ name: 'b', model, tools: [readLog, ...contextRelayTools(scene.relay)] });
    await runner().run(agent, QUESTION, { callModelInputFilter: largeResultFilter(scene.relay, options) });
    return model.lastCall!.request.input;
  }));
