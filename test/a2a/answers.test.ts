import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Client } from '@a2a-js/sdk/client';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import { execRunner } from '../../src/runners/exec.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import {
  a2aClient,
  BINDINGS,
  request,
  resultOf,
  says,
  startAgent,
  stateOf,
  taskOf,
  threadsOf,
} from './agents.ts';

/** Checks of the official A2A test kit about artifacts and messages, with an agent behind a bridge. */

for (const binding of BINDINGS) {
  describe(`answers in parts over ${binding}`, () => {
    let relay: RelayUnderTest;
    let client: Client;
    before(async () => {
      relay = await startRelay();
      client = await a2aClient(relay.url, binding);
    });
    after(() => relay[Symbol.asyncDispose]());

    test('text, data, URL and file parts keep their type', async () => {
      const large = 'a long text\n'.repeat(3_000);
      const url = 'https://example.com/output.txt';
      await using _agent = await startAgent(relay.url, () =>
        says('COMPLETED', 'here', [
          { name: 'words', parts: [{ text: 'Generated text content' }, { text: large }] },
          { name: 'data', description: 'figures', parts: [{ data: { key: 'value', count: 42 } }] },
          { parts: [{ url, filename: 'output.txt', mediaType: 'text/plain' }] },
          { parts: [{ raw: btoa('the file'), filename: 'output.txt', mediaType: 'text/plain' }] },
        ]),
      );
      const task = taskOf(await client.sendMessage(request('make them')));
      assert.equal(stateOf(task), 'completed');
      const [textArtifact, data, link, file] = task.artifacts;
      assert.deepEqual(textArtifact!.parts[0]!.content, { $case: 'text', value: 'Generated text content' });
      const [, longer] = textArtifact!.parts;
      assert.equal(longer!.content?.$case, 'url');
      assert.equal(await (await fetch(longer!.content.value as string)).text(), large);
      assert.equal(data!.description, 'figures');
      assert.deepEqual(data!.parts[0]!.content, { $case: 'data', value: { key: 'value', count: 42 } });
      assert.deepEqual(link!.parts[0]!.content, { $case: 'url', value: url });
      const [part] = file!.parts;
      assert.equal(part!.content?.$case, 'url');
      assert.equal(await (await fetch(part!.content.value as string)).text(), 'the file');
      for (const filePart of [link!.parts[0]!, part!])
        assert.deepEqual([filePart.filename, filePart.mediaType], ['output.txt', 'text/plain']);
      assert.equal(new Set(task.artifacts.map(({ artifactId }) => artifactId)).size, 4);
      const { artifacts } = await threadsOf(relay).artifacts(task.contextId);
      assert.deepEqual(artifacts.map(({ name }) => name).sort(), ['data', 'output.txt', 'words', 'words']);
    });

    test('an agent that answers with a message: a waiting client gets a message, a streaming client a task', async () => {
      await using _agent = await startAgent(relay.url, () => ({ message: { parts: [{ text: 'just so' }] } }));
      const answer = await client.sendMessage(request('why'));
      assert.ok('messageId' in answer);
      assert.deepEqual(answer.parts[0]!.content, { $case: 'text', value: 'just so' });
      assert.ok(answer.contextId);
      const kinds: string[] = [];
      for await (const { payload } of client.sendMessageStream(request('why then')))
        kinds.push(payload!.$case);
      assert.equal(kinds[0], 'task');
      assert.equal(kinds.at(-1), 'statusUpdate');
    });

    test('an agent can reject a task, and an invalid answer makes the task fail with a reason', async () => {
      await using _agent = await startAgent(relay.url, ({ text }) =>
        text === 'reject' ? says('REJECTED', 'not my trade') : { task: { artifacts: [{ parts: [{}] }] } },
      );
      const rejected = taskOf(await client.sendMessage(request('reject')));
      assert.equal(stateOf(rejected), 'rejected');
      assert.match(JSON.stringify(rejected.status), /not my trade/);
      const wrong = taskOf(await client.sendMessage(request('break')));
      assert.equal(stateOf(wrong), 'failed');
      assert.match(
        JSON.stringify(wrong.status),
        /artifacts\[0\]\.parts\[0\] must have exactly one of text, raw, url/,
      );
    });

    test('parts of a message reach the agent with their type', async () => {
      await using agent = await startAgent(relay.url, () => says('COMPLETED', 'seen'));
      const messageRequest = request('look');
      const plain = { metadata: undefined, filename: '', mediaType: '' };
      messageRequest.message!.parts.push(
        { ...plain, content: { $case: 'data', value: { pages: [1, 2] } } },
        { ...plain, content: { $case: 'url', value: 'https://example.com/a.pdf' }, filename: 'a.pdf' },
        { ...plain, content: { $case: 'raw', value: Buffer.from('bytes') }, filename: 'b.bin' },
        { ...plain, content: { $case: 'text', value: 'x'.repeat(8_000) } },
      );
      await client.sendMessage(messageRequest);
      const parts = agent.jobs[0]!.message!.json.parts as { [field: string]: unknown }[];
      assert.equal(parts[0]!.text, 'look');
      assert.deepEqual(parts[1]!.data, { pages: [1, 2] });
      assert.deepEqual([parts[2]!.url, parts[2]!.filename], ['https://example.com/a.pdf', 'a.pdf']);
      assert.equal(await (await fetch(parts[3]!.url as string)).text(), 'bytes');
      assert.equal((parts[4]!.text as string).length, 8_000);
    });
  });
}

test('a command gets the message in its environment, and a client without A2A gets the answer as text', async () => {
  await using relay = await startRelay();
  const hub = new ContextRelay({ baseUrl: relay.url });
  const script = `const e = process.env; const said = [e.RELAY_A2A_MESSAGE_ID, e.RELAY_A2A_TASK_ID === e.RELAY_TASK_ID,
    e.RELAY_A2A_CONTEXT_ID, e.RELAY_A2A_MESSAGE && JSON.parse(e.RELAY_A2A_MESSAGE).parts[0].text].join(' ');
    console.log(JSON.stringify({ a2a: '1.0', task: { artifacts: [{ parts: [{ text: said }] }] } }))`;
  const command = `node -e "${script.replaceAll('\n', ' ')}"`;
  const env = { ...process.env, RELAY_A2A_MESSAGE_ID: 'of another task' };
  const worker = await new AgentBridge(hub, { runner: execRunner({ command, env }) }).start();
  const client = await a2aClient(relay.url, 'JSONRPC');
  const task = taskOf(await client.sendMessage(request('hello', { messageId: 'm-1' })));
  assert.equal(resultOf(task), `m-1 true ${task.contextId} hello`);
  const answer = await new AgentBridge(hub).sendAndWait('no message', { timeout: 30_000 });
  assert.equal(answer.text, ' false  ');
  await worker.stop();
});
