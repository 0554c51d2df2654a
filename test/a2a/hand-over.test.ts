import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { connectAgent } from '../../src/runners/a2a.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { openRestartable } from '../mcp/restart.ts';
import { a2aClient, answerTasks, BINDINGS, request, resultOf, stateOf } from './agents.ts';

const sha = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

describe('two relays', () => {
  let [here, there]: RelayUnderTest[] = [];
  before(async () => {
    [here, there] = await Promise.all([startRelay(), startRelay()]);
  });
  after(() => Promise.all([here!, there!].map((relay) => relay[Symbol.asyncDispose]())));

  test('hand 5 MB to each other without sending the bytes in a message', async () => {
    const mine = new ContextRelay({ baseUrl: here!.url });
    const [input, output] = [randomBytes(5_000_000), randomBytes(5_000_000)];
    const pointer = await mine.push(input);
    let received = '';
    await using _bridge = answerTasks(there!.url, async (task) => {
      // The agent of the other relay gets a text with a pointer, and pulls it from this relay.
      received = sha(await new ContextRelay({ baseUrl: there!.url }).pullBytes(/http\S+/.exec(task)![0]));
      return output;
    });
    const messages = await watchingMessages(there!, async () => {
      const runner = await connectAgent(there!.url, { relay: mine });
      const outcome = await runner.run({ text: 'turn it around', attached: [pointer] });
      assert.equal(outcome.state, 'completed');
      assert.equal(received, sha(input));
      const [part] = outcome.parts;
      assert.ok(part && 'url' in part && part.url.startsWith(there!.url));
      assert.equal(sha(await runner.read(part)), sha(output));
    });
    assert.ok(messages < 20_000, `${messages} bytes`);
  });

  test('a long text is stored on one relay and read from the other', async () => {
    const mine = new ContextRelay({ baseUrl: here!.url });
    const long = 'a long brief\n'.repeat(10_000);
    await using _bridge = answerTasks(there!.url, async (task) => {
      const brief = await new ContextRelay({ baseUrl: there!.url }).pull(/http\S+/.exec(task)![0]);
      return `${brief.length} characters`;
    });
    const runner = await connectAgent(`${there!.url}/a2a/relay`, { relay: mine });
    const outcome = await runner.run({ text: long });
    assert.deepEqual(outcome.parts, [{ text: `${long.length} characters` }]);
  });

  test('bytes in a message are stored, and the agent gets a pointer', async () => {
    const client = await a2aClient(there!.url, 'JSONRPC');
    const bytes = randomBytes(100_000);
    await using _bridge = answerTasks(there!.url, async (task) => {
      assert.ok(task.length < 1_000);
      return sha(await new ContextRelay({ baseUrl: there!.url }).pullBytes(/http\S+/.exec(task)![0]));
    });
    const messageRequest = request('hash this');
    messageRequest.message!.parts.push({
      content: { $case: 'raw', value: bytes },
      metadata: undefined,
      filename: 'noise.bin',
      mediaType: 'application/octet-stream',
    });
    const task = await client.sendMessage(messageRequest);
    assert.ok('artifacts' in task);
    assert.equal(resultOf(task), sha(bytes));
  });
});

for (const binding of BINDINGS) {
  test(`a task survives a restart of the server (${binding})`, async () => {
    using home = temporaryHome();
    await using relay = await openRestartable(home.home);
    const client = await a2aClient(relay.url, binding);
    const task = await client.sendMessage(request('long work', { immediately: true }));
    assert.ok('artifacts' in task);
    await relay.restart();
    assert.equal(stateOf(await client.getTask({ tenant: '', id: task.id })), 'submitted');
    const bridge = answerTasks(relay.url, () => 'after the restart');
    const states: string[] = [];
    for await (const { payload } of client.resubscribeTask({ tenant: '', id: task.id })) {
      if (payload?.$case === 'task' || payload?.$case === 'statusUpdate') states.push(stateOf(payload.value));
    }
    await bridge[Symbol.asyncDispose]();
    assert.equal(states.at(-1), 'completed');
    await relay.restart();
    const storedTask = await client.getTask({ tenant: '', id: task.id });
    assert.equal(stateOf(storedTask), 'completed');
    assert.equal(resultOf(storedTask), 'after the restart');
  });
}

/** Counts the bytes sent to and from the agent of a relay while `work` runs. */
async function watchingMessages(relay: RelayUnderTest, work: () => Promise<void>): Promise<number> {
  const original = globalThis.fetch;
  let bytes = 0;
  globalThis.fetch = async (input, init) => {
    const httpRequest = new Request(input, init);
    const watched = httpRequest.url.startsWith(`${relay.url}/a2a`);
    if (watched) bytes += (await httpRequest.clone().arrayBuffer()).byteLength;
    const answer = await original(httpRequest);
    if (!watched || !answer.body) return answer;
    const countedBody = answer.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.byteLength;
          controller.enqueue(chunk);
        },
      }),
    );
    return new Response(countedBody, answer);
  };
  try {
    await work();
  } finally {
    globalThis.fetch = original;
  }
  return bytes;
}
