import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { AgentBridge } from '../../src/client/bridge/agent-bridge.ts';
import type { BridgeEvent } from '../../src/client/bridge/options.ts';
import { generateFernetKey } from '../../src/formats/fernet.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { startTestServer } from '../channels/server.ts';
import { runHere } from '../cli/in-process.ts';
import { temporaryHome } from '../cli/program.ts';
import { agent } from './bridge.ts';

const CHANNELS = ['agent-tasks', 'agent-done'];

/** Runs commands with this home against the server at `url`. */
function member(home: string, url: string) {
  const env = { CONTEXTRELAY_URL: url };
  return (args: readonly string[], stdin?: string) => runHere(args, { home, env, stdin });
}

test('an encrypted task is shown with its result to holders of the key, and without it to others', async () => {
  await using server = await startTestServer();
  using insider = temporaryHome();
  using outsider = temporaryHome();
  const relay = member(insider.home, server.url);
  for (const channel of CHANNELS) await relay(['channel', 'key', 'new', channel]);
  const sendResult = await relay(['bridge', 'send', 'a secret', '--encrypt', '--json']);
  const { id, url } = JSON.parse(sendResult.stdout);
  const waiting = await relay(['task', 'show', url]);
  assert.match(waiting.stdout, /queued/);
  const brought = await relay(['task', 'done', id, 'the answer', '--encrypt']);
  assert.match(brought.stdout, /#key=/);

  const result = await relay(['task', 'show', id]);
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stdout, /result text\nthe answer/);
  const stranger = await member(outsider.home, server.url)(['task', 'show', id]);
  assert.equal(stranger.code, 0, stranger.stderr);
  assert.match(stranger.stdout, /done/);
  assert.match(stranger.stdout, /encrypted.*relay channel key add agent-done/);
  assert.doesNotMatch(stranger.stdout, /the answer/);

  const other = (await relay(['bridge', 'send', 'a secret', '--encrypt'])).stdout.trim();
  const plain = await relay(['task', 'done', other, 'in the open']);
  assert.match(plain.stderr, /the task is encrypted but its result is not/);
  const third = (await relay(['bridge', 'send', 'no secret'])).stdout.trim();
  assert.equal((await relay(['task', 'done', third, 'in the open'])).stderr, '');

  const again = await relay(['task', 'fail', id, 'no', '--encrypt']);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /already has a result/);
});

test('the result of an encrypted task is encrypted if the bridge has the channel key', async () => {
  await using server = await startTestServer();
  const tasks = generateFernetKey(systemEnv);
  const client = (channelKeys: { [channel: string]: string }) =>
    new ContextRelay({ baseUrl: server.url, channelKeys });
  const keys = { 'agent-tasks': tasks, 'agent-done': generateFernetKey(systemEnv) };
  const runner = agent(({ text }) => ({ output: `read: ${text}` }));
  const events: BridgeEvent[] = [];
  const onEvent = (event: BridgeEvent) => void events.push(event);
  {
    await using _ = await new AgentBridge(client(keys), { runner, onEvent }).start();
    const answer = await new AgentBridge(client(keys)).sendAndWait('a secret', { encrypted: true });
    assert.equal(answer.text, 'read: a secret');
    assert.equal(answer.summary, null);
    assert.match(answer.url, /#key=/);
    assert.doesNotMatch(JSON.stringify(events), /secret/);
    const plain = await new AgentBridge(client(keys)).sendAndWait('no secret');
    assert.equal(plain.summary, 'read: no secret');
    assert.doesNotMatch(plain.url, /#key=/);
  }
  await using _ = await new AgentBridge(client({ 'agent-tasks': tasks }), { runner, onEvent }).start();
  const answer = await new AgentBridge(client(keys)).sendAndWait('a secret', { encrypted: true });
  assert.doesNotMatch(answer.url, /#key=/);
  assert.ok(events.some((event) => event.type === 'trouble' && /no key .* agent-done/.test(event.what)));
});

test('an agent in a terminal is instructed to encrypt the result of an encrypted task', async () => {
  await using server = await startTestServer();
  const prompts: string[] = [];
  const runner = agent(({ prompt }) => ({ output: String(prompts.push(prompt)) }), { inline: () => false });
  const client = new ContextRelay({ baseUrl: server.url });
  await using _ = await new AgentBridge(client, { runner, encrypted: true }).start();
  await new AgentBridge(client, {}).send('x');
  const { id } = await new AgentBridge(client).send('y');
  await assert.rejects(new AgentBridge(client).wait(id), /encrypted/);
  assert.match(prompts[0]!, /relay task done --encrypt [0-9a-f-]{36} "/);
});

test('stderr warns if subscribers cannot decrypt a push, and if its metadata is not encrypted', async () => {
  using scratch = temporaryHome();
  const relay = (args: readonly string[], stdin = 'a secret') => runHere(args, { home: scratch.home, stdin });
  const unshared = await relay(['push', '--encrypt', '--channel', 'notes']);
  assert.match(unshared.stderr, /no key for the channel notes, so its subscribers cannot decrypt/);
  assert.match(unshared.stdout, /^http:\S+#key=\S+\n$/);
  assert.match((await relay(['bridge', 'send', 'x', '-e'])).stderr, /no key for the channel agent-tasks/);
  const direct = await relay(['bridge', 'send', 'x', '-e', '--to', 'ada']);
  assert.match(direct.stderr, /no key for the channel agent-tasks@ada/);
  const explicit = await relay(['push', '--encrypt', '--meta', 'summary=about', '--name', 'n']);
  assert.match(explicit.stderr, /metadata is not encrypted: the relay can read summary, name/);
  assert.match(explicit.stdout, /^http:\S+#key=\S+\n$/);
  assert.equal(JSON.parse((await relay(['peek', explicit.stdout.trim()])).stdout).summary, 'about');

  await relay(['channel', 'key', 'new', 'notes']);
  const shared = await relay(['push', '--encrypt', '--channel', 'notes']);
  assert.equal(shared.stderr, '');
  assert.equal((await relay(['push', '--channel', 'other'])).stderr, '');
});

test('an encryption key of all zeros is rejected', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  const zeros = `${'A'.repeat(43)}=`;
  const added = await runHere(['channel', 'key', 'add', 'notes'], { home, stdin: zeros });
  assert.equal(added.code, 2);
  await runHere(['channel', 'key', 'new', 'notes'], { home });
  const keyring = join(home, 'keyring.json');
  writeFileSync(keyring, readFileSync(keyring, 'utf8').replace(/"key": "[^"]+"/, `"key": "${zeros}"`));
  const pushed = await runHere(['push', '-e', '-c', 'notes'], { home, stdin: 'x' });
  assert.equal(pushed.code, 4);
  assert.match(pushed.stderr, /channel "notes".*not all zeros/);
  const { stdout } = await runHere(['channels', '--json'], { home });
  assert.deepEqual(JSON.parse(stdout).channels, []);
});

test('on the command line, a pull that cannot be decrypted uses up no pull of the pointer', async () => {
  using scratch = temporaryHome();
  const relay = (...args: string[]) => runHere(args, { home: scratch.home, stdin: 'for one reader' });
  const url = (await relay('push', '--encrypt', '--max-pulls', '1')).stdout.trim();
  const [bare] = url.split('#') as [string];
  const wrong = [bare, url.slice(0, -4), `${bare}#key=${generateFernetKey(systemEnv)}`];
  for (const flags of [
    [],
    ['--cost'],
    ['--json'],
    ['--lines', '1'],
    ['--out', 'f'],
    ['--outline', '--cost'],
  ]) {
    for (const attempt of wrong) {
      const { code, stdout } = await relay('pull', attempt, ...flags);
      assert.deepEqual([code, stdout], [4, ''], `${attempt} ${flags}`);
    }
  }
  const cost = await relay('pull', url, '--cost');
  assert.equal(cost.code, 0, cost.stderr);
  assert.equal((await relay('pull', url)).stdout, 'for one reader');
});
