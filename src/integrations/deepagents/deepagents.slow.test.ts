import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { createDeepAgent } from 'deepagents';
import { fakeModel } from 'langchain';
import { assertHandOver, QUESTION } from '../../../test/integrations/hand-over.ts';
import { embedded, LARGE_LOG, NEEDLE, type Scene, startScene } from '../../../test/integrations/scene.ts';
import { largeResultMiddleware } from '../langchain/index.ts';
import { ContextRelayBackend } from './index.ts';

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

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

const saying = (messages: BaseMessage[]) => new AIMessage(messages.at(-1)!.text);

test('another agent, and a person with the SDK, can read the files that an agent writes and edits', async () => {
  const writer = createDeepAgent({
    model: fakeModel()
      .respond(
        calling('write_file', () => ({
          file_path: '/plans/plan.md',
          content: '# Plan\n\nShip on Monday.\n',
        })),
      )
      .respond(
        calling('edit_file', () => ({
          file_path: '/plans/plan.md',
          old_string: 'Monday',
          new_string: 'Friday',
        })),
      )
      .respond(saying),
    backend: new ContextRelayBackend(scene.relay),
  });
  await writer.invoke({ messages: [new HumanMessage('plan it')] });
  const reader = createDeepAgent({
    model: fakeModel()
      .respond(calling('ls', () => ({ path: '/plans' })))
      .respond(calling('read_file', (result) => ({ file_path: /\/plans\/\S+\.md/.exec(result)![0] })))
      .respond(saying),
    backend: new ContextRelayBackend(embedded(scene.server)),
  });
  const { messages } = await reader.invoke({ messages: [new HumanMessage('what is the plan?')] });
  assert.match(messages.at(-1)!.text, /Ship on Friday\./);
  const space = scene.relay.files.space('deepagents');
  assert.equal(await space.text('plans/plan.md'), '# Plan\n\nShip on Friday.\n');
  assert.equal(await space.text('plans/plan.md', undefined, { version: 1 }), '# Plan\n\nShip on Monday.\n');
});

test('a tool result of a megabyte becomes a file in the relay, and the agent reads one line of it', async () => {
  const model = fakeModel()
    .respond(calling('read_log', () => ({})))
    .respond(calling('grep', () => ({ pattern: 'payment 4711', path: '/', output_mode: 'content' })))
    .respond(saying);
  const readLog = tool(async () => LARGE_LOG, {
    name: 'read_log',
    description: 'the log of today',
    schema: { type: 'object', properties: {} },
  });
  const agent = createDeepAgent({
    model,
    tools: [readLog],
    backend: new ContextRelayBackend(scene.relay, { space: 'large' }),
  });
  const { messages } = await agent.invoke({ messages: [new HumanMessage('why was payment 4711 refused?')] });
  assert.ok(messages.at(-1)!.text.includes(NEEDLE), messages.at(-1)!.text);
  const sent = JSON.stringify(model.calls.map((call) => call.messages)).length;
  assert.ok(sent < 100_000, `the model was sent ${sent} characters`);
  const listing = await scene.relay.files.space('large').list();
  assert.deepEqual(
    listing.files.map(({ size }) => size),
    [new TextEncoder().encode(LARGE_LOG).byteLength],
  );
});

test('a read returns the requested lines', async () => {
  const backend = new ContextRelayBackend(scene.relay, { space: 'lines' });
  await backend.write('/big.log', LARGE_LOG);
  assert.deepEqual(await backend.read('/big.log', 13_000, 1), {
    content: NEEDLE,
    mimeType: 'text/plain',
    startLine: 13_001,
  });
  await backend.write('/empty.txt', '');
  assert.equal((await backend.read('/empty.txt')).content, '');
  assert.deepEqual(await backend.read('/absent.txt'), { error: "File '/absent.txt' not found" });
  assert.match((await backend.write('/../up.txt', 'x')).error!, /^Error: /);
});

test('folders, patterns, searches, bytes and deletion follow the protocol', async () => {
  const backend = new ContextRelayBackend(scene.relay, { space: 'tree' });
  await backend.write('/a.md', 'one fig\ntwo');
  await backend.write('/docs/b.md', 'three fig.*s');
  await backend.write('/docs/deep/c.txt', 'four');
  await backend.uploadFiles([['/docs/d.bin', new Uint8Array([255, 0, 254])]]);
  const paths = (files: { path: string }[] = []) => files.map(({ path }) => path);
  assert.deepEqual(paths((await backend.ls('/')).files), ['/a.md', '/docs/']);
  assert.deepEqual(paths((await backend.ls('/docs')).files), ['/docs/b.md', '/docs/d.bin', '/docs/deep/']);
  assert.deepEqual(paths((await backend.glob('**/*.md')).files), ['/a.md', '/docs/b.md']);
  assert.deepEqual(paths((await backend.glob('*.md', '/docs')).files), ['/docs/b.md']);
  assert.deepEqual((await backend.grep('fig.*', null, '*.md')).matches, [
    { path: '/docs/b.md', line: 1, text: 'three fig.*s' },
  ]);
  assert.equal((await backend.grep('fig', '/', null, 1)).truncated, true);
  const [bytes, absent] = await backend.downloadFiles(['/docs/d.bin', '/nothing']);
  assert.deepEqual([...bytes!.content!], [255, 0, 254]);
  assert.equal(absent!.error, 'file_not_found');
  assert.match((await backend.edit('/a.md', 'o', '0')).error!, /appears 2 times/);
  assert.equal((await backend.edit('/a.md', 'o', '0', true)).occurrences, 2);
  const raw = await backend.readRaw('/a.md');
  assert.equal((raw.data as { content: string }).content, '0ne fig\ntw0');
  assert.deepEqual(await backend.delete('/docs'), { path: '/docs' });
  assert.deepEqual(paths((await backend.ls('/')).files), ['/a.md']);
  assert.match((await backend.delete('/docs')).error!, /not found/);
});

test('two agents that edit one file at the same time lose nothing', async () => {
  const backend = new ContextRelayBackend(scene.relay, { space: 'edits' });
  await backend.write('/list.md', Array.from({ length: 8 }, (_, i) => `- [ ] item ${i};`).join('\n'));
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => backend.edit('/list.md', `[ ] item ${i};`, `[x] item ${i};`)),
  );
  const { content } = await backend.read('/list.md');
  assert.equal((content as string).match(/\[x\]/g)?.length, 8);
});

test('a hand-over costs as many tokens as the page says', () =>
  assertHandOver('deepagents', async (result, options) => {
    const model = fakeModel()
      .respond(calling('read_log', () => ({})))
      .respond(new AIMessage('done'));
    const log = tool(async () => result, {
      name: 'read_log',
      description: 'the log of today',
      schema: { type: 'object', properties: {} },
    });
    const agent = createDeepAgent({
      model,
      tools: [log],
      backend: new ContextRelayBackend(scene.relay, { space: 'hand-over' }),
      middleware: [largeResultMiddleware(scene.relay, options)],
    });
    await agent.invoke({ messages: [new HumanMessage(QUESTION)] });
    return model.calls.at(-1)!.messages.map(({ text }) => text);
  }));
