import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { RunnableLambda } from '@langchain/core/runnables';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createAgent, fakeModel } from 'langchain';
import { assertHandOver, QUESTION } from '../../../test/integrations/hand-over.ts';
import {
  assertReadInPart,
  LARGE_LOG,
  NEEDLE,
  pointerIn,
  type Scene,
  startScene,
} from '../../../test/integrations/scene.ts';
import { ContextRelaySaver } from '../langgraph/index.ts';
import {
  ContextRelayByteStore,
  ContextRelayCallbackHandler,
  ContextRelayRetriever,
  contextRelayTools,
  largeResultMiddleware,
} from './index.ts';

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

const readLog = tool(async () => LARGE_LOG, {
  name: 'read_log',
  description: 'the log of today',
  schema: { type: 'object', properties: {} },
});

/**
 * Returns a turn in which the model calls a tool. The arguments are computed from the text that the model saw
 * last.
 */
function calling(name: string, args: (result: string) => object) {
  return (messages: BaseMessage[]) =>
    new AIMessage({
      content: '',
      tool_calls: [
        {
          name,
          args: args(messages.at(-1)!.text) as never,
          id: `call-${messages.length}`,
          type: 'tool_call',
        },
      ],
    });
}

test('an agent pushes a text, and another agent that gets the URL pulls it', async () => {
  const tools = contextRelayTools(scene.relay);
  const writer = createAgent({
    model: fakeModel()
      .respond(calling('push_context', () => ({ data: 'the findings', summary: 'findings' })))
      .respond((messages) => new AIMessage(messages.at(-1)!.text)),
    tools,
  });
  const written = await writer.invoke({ messages: [new HumanMessage('write it down')] });
  const url = pointerIn(written.messages.at(-1)!.text);
  const reader = createAgent({
    model: fakeModel()
      .respond(calling('peek_context', pointerArgument))
      .respond(calling('pull_context', () => ({ url })))
      .respond((messages) => new AIMessage(`It says: ${messages.at(-1)!.text}`)),
    tools,
  });
  const read = await reader.invoke({ messages: [new HumanMessage(`read ${url}`)] });
  assert.deepEqual(
    read.messages.slice(1).map(({ text }) => text),
    ['', '{\n  "summary": "findings"\n}', '', 'the findings', 'It says: the findings'],
  );
});

test('a tool result of a megabyte becomes a pointer, and the model reads one line of it', async () => {
  const model = fakeModel()
    .respond(calling('read_log', () => ({})))
    .respond(
      calling('pull_context', (result) => ({ url: pointerIn(result), part: 'grep=payment .* refused' })),
    )
    .respond(new AIMessage('The card has expired.'));
  const agent = createAgent({ model, tools: [readLog], middleware: [largeResultMiddleware(scene.relay)] });
  const { messages } = await agent.invoke({ messages: [new HumanMessage('why was payment 4711 refused?')] });
  const [, , instead, , read] = messages.map(({ text }) => text);
  assertReadInPart(instead!, read!);
  const sentMessages = JSON.stringify(model.calls.map((call) => call.messages));
  assert.ok(sentMessages.length < 20_000, `the model was sent ${sentMessages.length} characters`);
  assert.equal(await scene.relay.pull(pointerIn(instead!)), LARGE_LOG, 'the whole of it is at the relay');
});

test("the same result has the same pointer, so the model's context stays the same bytes", async () => {
  const agent = () =>
    createAgent({
      model: fakeModel()
        .respond(calling('read_log', () => ({})))
        .respond(new AIMessage('seen')),
      tools: [readLog],
      middleware: [largeResultMiddleware(scene.relay)],
    });
  const toolText = async () =>
    (await agent().invoke({ messages: [new HumanMessage('look')] })).messages[2]!.text;
  assert.equal(await toolText(), await toolText());
});

test('a result that cannot be pushed stays unchanged, and the error is reported', async () => {
  const errors: unknown[] = [];
  const { relay } = scene;
  const failing = Object.create(relay, {
    pushDetailed: { value: () => Promise.reject(new Error('no line')) },
  });
  const agent = createAgent({
    model: fakeModel()
      .respond(calling('read_log', () => ({})))
      .respond(new AIMessage('seen')),
    tools: [readLog],
    middleware: [largeResultMiddleware(failing, { onError: (error) => errors.push(error) })],
  });
  const { messages } = await agent.invoke({ messages: [new HumanMessage('look')] });
  assert.equal(messages[2]!.text, LARGE_LOG);
  assert.deepEqual(errors.map(String), ['Error: no line']);
});

test('a tool tells the model what is wrong with its call', async () => {
  const [push, , pull] = contextRelayTools(scene.relay);
  const errors = [
    await push!.invoke({ data: '' }),
    await pull!.invoke({ url: 'https://example.com/' }),
    await pull!.invoke({ url: await scene.relay.push('x'), part: 'page 3' }),
  ];
  assert.match(errors[0], /^Error pushing context: .*empty/i);
  assert.match(errors[1], /^Error pulling context: .*\/pull\/<uuid>/);
  assert.match(errors[2], /^Error pulling context: Cannot read this part: "page 3" is not a known part/);
});

test('a pull that is too large for the model returns size, beginning and how to read less', async () => {
  const pull = contextRelayTools(scene.relay, { maxBytes: 1000 }).at(-1)!;
  const url = await scene.relay.push(LARGE_LOG);
  const whole = await pull.invoke({ url });
  assert.match(whole, /^Not pulled: the limit for one result is 1000 bytes\. Too large to show: the payload/);
  assert.ok(!whole.includes(NEEDLE));
  const lines = await pull.invoke({ url, part: 'lines=1-1000' });
  assert.match(lines, /\[cut at 1000 bytes; request a smaller part\]$/);
  assert.equal(await pull.invoke({ url, part: 'all' }), LARGE_LOG);
});

test('the retriever returns the text of a URL, and passages of a thread for a question', async () => {
  const thread = await scene.relay.threads.create({ name: 'retrieval' });
  await thread.artifacts.put('# Refunds\n\nRefunds are paid within five days.', { name: 'refunds.md' });
  await thread.artifacts.put('# Shipping\n\nParcels leave on Mondays.', { name: 'shipping.md' });
  const retriever = new ContextRelayRetriever({ relay: scene.relay, thread: thread.id });
  const [found] = await retriever.invoke('when are refunds paid?');
  assert.match(found!.pageContent, /five days/);
  assert.equal(found!.metadata.name, 'refunds.md');
  const url = await scene.relay.push('secret words', { encrypted: true, metadata: { summary: 'words' } });
  const [pulled] = await retriever.invoke(url);
  assert.equal(pulled!.pageContent, 'secret words');
  assert.equal(pulled!.metadata.source, url.split('#')[0]);
  await assert.rejects(
    new ContextRelayRetriever({ relay: scene.relay }).invoke('why?'),
    /has no thread to search/,
  );
});

test('the callback handler pushes the output of a run to a channel once', async () => {
  const handler = new ContextRelayCallbackHandler({ relay: scene.relay, channel: 'outputs' });
  const chain = RunnableLambda.from(async (name: string) => `hello ${name}`).pipe(
    RunnableLambda.from(async (text: string) => text.toUpperCase()),
  );
  await chain.invoke('ada', { callbacks: [handler] });
  const agent = createAgent({ model: fakeModel().respond(new AIMessage('last words')), tools: [] });
  await agent.invoke({ messages: [new HumanMessage('go')] }, { callbacks: [handler] });
  const outputs: string[] = [];
  for await (const message of scene.relay.subscribe('outputs', { since: 'all' })) {
    outputs.push(await scene.relay.pull(message.url!));
    if (outputs.length === 2) break;
  }
  assert.deepEqual(outputs, ['HELLO ADA', 'last words']);
});

function pointerArgument(result: string): object {
  return { url: pointerIn(result) };
}

test('the byte store returns the stored values for any key, and lists keys by prefix', async () => {
  const store = new ContextRelayByteStore(scene.relay);
  const bytes = (text: string) => new TextEncoder().encode(text);
  const long = 'k'.repeat(400);
  await store.mset([
    ['doc/1', bytes('one')],
    ['doc/2', new Uint8Array([0, 255])],
    ['other ü', bytes('')],
    [`${long}1`, bytes('long')],
    [`${long}2`, bytes('longer')],
  ]);
  const values = await store.mget(['doc/2', 'absent', 'other ü', `${long}2`]);
  assert.deepEqual(values, [new Uint8Array([0, 255]), undefined, bytes(''), bytes('longer')]);
  assert.deepEqual((await Array.fromAsync(store.yieldKeys('doc/'))).sort(), ['doc/1', 'doc/2']);
  await store.mdelete(['doc/1', 'absent']);
  assert.deepEqual(await store.mget(['doc/1']), [undefined]);
});

test('a result lives as long as the checkpoints that contain its pointer', async () => {
  const days = async (options: { ttl?: number }, checkpointer?: MemorySaver | ContextRelaySaver) => {
    const log = `${LARGE_LOG}\nread ${reads++}`;
    const agent = createAgent({
      model: fakeModel()
        .respond(calling('read_log', () => ({})))
        .respond(() => new AIMessage('done')),
      tools: [tool(async () => log, readLog)],
      middleware: [largeResultMiddleware(scene.relay, options)],
      checkpointer,
    });
    const { messages } = await agent.invoke(
      { messages: [new HumanMessage('what is in the log?')] },
      { configurable: { thread_id: `kept-${reads}` } },
    );
    const { expires_at } = await scene.relay.inspect(pointerIn(messages[2]!.text));
    return Math.round((Date.parse(expires_at!) - Date.now()) / 86_400_000);
  };
  let reads = 0;
  assert.equal(await days({}), 1, 'without a checkpointer, a day');
  assert.ok((await days({}, new MemorySaver())) > 3600, 'whoever knows for how long it stores the messages');
  assert.equal(await days({ ttl: 7 * 24 * 3600 }, new MemorySaver()), 7, 'as long as is asked for');
  assert.ok((await days({}, new ContextRelaySaver(scene.relay, { space: 'kept' }))) > 3600);
});

test('a hand-over costs as many tokens as the page says', () =>
  assertHandOver('langchain', async (result, options) => {
    const model = fakeModel()
      .respond(calling('read_log', () => ({})))
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
    });
    await agent.invoke({ messages: [new HumanMessage(QUESTION)] });
    return model.calls.at(-1)!.messages.map(({ text }) => text);
  }));
