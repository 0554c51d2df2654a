import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { relay as run, temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { answerTasks, says, startAgent } from './agents.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

const a2a = (...args: string[]) => run(['a2a', ...args], { home: home.home });

test('relay a2a card shows the card of an agent', async () => {
  const card = await a2a('card', relay.url);
  assert.equal(card.code, 0, card.stderr);
  assert.match(card.stdout, /ContextRelay/);
  assert.match(card.stdout, /HTTP\+JSON 1\.0 at http/);
  assert.equal(JSON.parse((await a2a('card', relay.url, '--json')).stdout).name, 'ContextRelay');
});

test('relay a2a send prints the result of the task, and writes a binary result to a file', async () => {
  const bytes = new Uint8Array(40_000).fill(7);
  await using _bridge = answerTasks(relay.url, (task) => (task.includes('bytes') ? bytes : `did: ${task}`));
  const result = await a2a('send', relay.url, 'write a test');
  assert.equal(result.stdout, 'did: write a test\n', result.stderr);
  const piped = await run(['a2a', 'send', `${relay.url}/a2a/relay`, '-'], {
    home: home.home,
    stdin: 'from a pipe',
  });
  assert.equal(piped.stdout, 'did: from a pipe\n', piped.stderr);
  const file = join(home.home, 'out.bin');
  const saved = await a2a('send', relay.url, 'give me bytes', '-o', file);
  assert.equal(saved.code, 0, saved.stderr);
  assert.deepEqual(new Uint8Array(readFileSync(file)), bytes);
});

test('relay a2a send stores a long task locally and sends its pointer', async () => {
  await using _bridge = answerTasks(relay.url, (task) => `got: ${task}`);
  const text = 'a line of a long task\n'.repeat(1_000);
  const result = await run(['a2a', 'send', relay.url, '-'], { home: home.home, stdin: text });
  assert.equal(result.code, 0, result.stderr);
  const [pointer] = /http:\S+\/pull\/[0-9a-f-]{36}/.exec(result.stdout) ?? assert.fail(result.stdout);
  assert.equal((await run(['pull', pointer], { home: home.home })).stdout, text);
});

test('relay a2a send says that a task failed, and why', async () => {
  await using _bridge = answerTasks(relay.url, () => {
    throw new Error('no such file');
  });
  const failed = await a2a('send', relay.url, 'break');
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /The state of the task is failed\.[\s\S]*no such file/);
});

test('relay a2a tasks lists, shows and cancels', async () => {
  const id = (await a2a('send', relay.url, 'later', '--no-wait')).stdout.trim();
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.match((await a2a('tasks', relay.url)).stdout, new RegExp(`${id}\\s+submitted`));
  assert.equal((await a2a('tasks', relay.url, id, '--cancel')).stdout, 'canceled\nCanceled by local.\n');
  assert.equal(JSON.parse((await a2a('tasks', relay.url, id, '--json')).stdout).state, 'canceled');
});

test('a missing agent is exit code 5', async () => {
  const none = await a2a('card', 'http://127.0.0.1:1');
  assert.equal(none.code, 5);
  assert.match(none.stderr, /No agent answers at/);
  assert.equal((await a2a('card', 'nonsense')).code, 2);
});

test("relay a2a send prints the agent's question, and --task answers it", async () => {
  await using _agent = await startAgent(relay.url, ({ text }) =>
    text.includes('blue')
      ? says('COMPLETED', 'done', [{ parts: [{ raw: btoa('a picture'), filename: 'p.png' }] }])
      : says('INPUT_REQUIRED', 'Which colour?'),
  );
  const result = await a2a('send', relay.url, 'paint');
  assert.equal(result.code, 1);
  assert.match(result.stderr, /The agent asks: Which colour\?/);
  const [, id] = /--task ([0-9a-f-]{36})/.exec(result.stderr) ?? assert.fail(result.stderr);
  const file = join(home.home, 'p.png');
  const painted = await a2a('send', relay.url, 'blue', '--task', id!, '-o', file);
  assert.equal(painted.code, 0, painted.stderr);
  assert.equal(readFileSync(file, 'utf8'), 'a picture');
  const late = await a2a('send', relay.url, 'red', '--task', id!);
  assert.match(late.stderr, /The agent rejected the request: The task has ended \(completed\)/);
  assert.match(
    (await a2a('tasks', relay.url, 'none')).stderr,
    /The agent rejected the request: Task not found/,
  );
});
