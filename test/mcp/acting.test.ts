import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { relay as run, temporaryHome } from '../cli/program.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { overHttp, overStdio, type TestClient } from './clients.ts';

/** Tests that the answers and errors of tools tell the model its next step. */

const home = temporaryHome();
const folder = join(home.home, 'project');
let stdio: TestClient;
let http: TestClient;
let relay: RelayUnderTest;
before(async () => {
  mkdirSync(folder);
  relay = await startRelay();
  stdio = await overStdio(home.home, '2025-11-25', { cwd: folder });
  http = await overHttp(relay.url, '2025-11-25');
});
after(async () => {
  await stdio[Symbol.asyncDispose]();
  await http[Symbol.asyncDispose]();
  await relay[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

test('a peek says how many pulls are left, and looking uses up none', async () => {
  for (const [mcp, encrypted] of [
    [stdio, true],
    [stdio, false],
    [http, false],
  ] as const) {
    const data = '# One\n\nfor one reader\n';
    const url = await mcp.call('push_context', { data, encrypted, max_pulls: 1, ttl: 3600 });
    const peek = async () => JSON.parse(await mcp.call('peek_context', { url }));
    const first = await peek();
    assert.deepEqual([first.pulls_left, first.encrypted], [1, encrypted]);
    assert.ok(Math.abs(Date.parse(first.expires_at) - Date.now() - 3_600_000) < 60_000);
    assert.match(await mcp.call('pull_context', { url, part: 'outline' }), /One/);
    assert.equal(await mcp.call('pull_context', { url, part: 'grep=nothing' }), '0 matches in 3 lines');
    assert.match(await mcp.call('pull_context', { url, part: 'lines=90-' }), /after the end/);
    assert.equal((await peek()).pulls_left, 1);
    assert.equal(await mcp.call('pull_context', { url }), data);
    assert.match(await mcp.call('pull_context', { url }), /^Error pulling context: /);
  }
});

test('push_context takes a file of the folder over stdio, and none outside', async () => {
  writeFileSync(join(folder, 'report.md'), 'from a file');
  writeFileSync(join(home.home, 'outside.md'), 'not yours');
  symlinkSync(join(home.home, 'outside.md'), join(folder, 'link.md'));
  symlinkSync(home.home, join(folder, 'up'));
  const url = await stdio.call('push_context', { path: 'report.md' });
  assert.equal(await stdio.call('pull_context', { url }), 'from a file');
  for (const path of ['link.md', 'up/outside.md', '../outside.md', '/etc/hostname', 'missing.md', '.'])
    assert.match(await stdio.call('push_context', { path }), /^Error pushing context: The file /, path);
  assert.match(await stdio.call('push_context', { path: 'report.md', data: 'x' }), /either "data" or "path"/);
  assert.match(await http.call('push_context', { data: 'x', path: 'report.md' }), /no field "path"/);
});

test('JSON of every shape stays verbatim, in a block that is not the first', async () => {
  for (const data of ['[1, 2]', '42', '"text"', 'null', '-1.5e3']) {
    const url = await stdio.call('push_context', { data });
    const { content } = await stdio.client.callTool({ name: 'pull_context', arguments: { url } });
    assert.deepEqual(
      (content as { text: string }[]).map(({ text }) => text),
      ['JSON:', data],
    );
  }
  const url = await stdio.call('push_context', { data: '{"a":1}' });
  assert.equal(await stdio.call('pull_context', { url }), '{"a":1}');
});

test('an agent that follows nothing is told so, and can follow a channel', async () => {
  for (const mcp of [stdio, http]) {
    assert.match(await mcp.call('inbox_read', { agent: 'ada' }), /follows no channel.*inbox_follow/);
    const early = await mcp.call('inbox_mark_read', { agent: 'ada', cursors: { desk: 0 } });
    assert.match(early, /^Error marking messages as read: .*inbox_follow/);
    assert.equal(
      await mcp.call('inbox_follow', { agent: 'ada', channel: 'desk' }),
      'ada follows desk from now on.',
    );
    assert.equal(await mcp.call('inbox_read', { agent: 'ada' }), '(no new messages)');
    await mcp.call('channel_publish', { channel: 'desk', message: 'hello' });
    assert.match(await mcp.call('inbox_read', { agent: 'ada' }), /"msg":"hello"/);
  }
});

test('errors name tools and pointers, no shell commands and no internal address', async () => {
  const thread_id = '00000000-0000-4000-8000-000000000000';
  const calls: [string, object][] = [
    ['thread_header', { thread_id }],
    ['thread_patch', { thread_id, ops: [{ op: 'add', path: '/facts/-', value: {} }] }],
    ['artifact_get', { thread_id, ref: 'x' }],
    ['artifact_put', { thread_id, name: 'a', content: 'b' }],
    ['artifact_search', { thread_id, query: 'x' }],
  ];
  for (const mcp of [stdio, http]) {
    for (const [name, args] of calls) {
      const answer = await mcp.call(name, args as Record<string, unknown>);
      assert.match(answer, /^Error .*(thread_patch|thread_header)/, name);
      assert.doesNotMatch(answer, /relay [a-z]+/, name);
    }
  }
  const store = new ContextRelay({ relay: relay.core.relay(LOCAL_CALLER, relay.url), ownBases: [relay.url] });
  const binary = await store.push(new Uint8Array([0xff, 0xfe, 0]));
  assert.match(await http.call('pull_context', { url: binary }), /relay pull [0-9a-f-]{36} --out FILE/);
  writeFileSync(join(folder, 'a.bin'), new Uint8Array([0xff, 0xfe, 0]));
  const url = await stdio.call('push_context', { path: 'a.bin' });
  for (const part of [undefined, 'all', 'outline', 'grep=x', 'lines=1'])
    assert.doesNotMatch(await stdio.call('pull_context', { url, part }), /store\.invalid/);
});

test('the pointers of an encrypted channel open with the key in the keyring', async () => {
  const o = { home: home.home };
  await run(['channel', 'key', 'new', 'sealed'], o);
  await stdio.call('inbox_follow', { agent: 'bob', channel: 'sealed' });
  await stdio.call('push_context', { data: 'for members', channel: 'sealed', encrypted: true });
  for (const answer of [
    await stdio.call('channel_read', { channel: 'sealed' }),
    await stdio.call('inbox_read', { agent: 'bob' }),
  ]) {
    const { url } = JSON.parse(answer.split('\n')[0]!);
    assert.match(url, /#key=/);
    assert.equal(await stdio.call('pull_context', { url }), 'for members');
  }
});

test('a task can be sent now and collected later', async () => {
  const answer = await http.call('bridge_task', { task: 'look at it', to: 'reviewer', wait: false });
  assert.match(
    answer,
    /^Sent as [0-9a-f-]{36}\. Call task_result later\. No agent listens as reviewer on agent-tasks/,
  );
  const [task] = /[0-9a-f-]{36}/.exec(answer)!;
  const { state } = JSON.parse(await http.call('task_result', { task }));
  assert.equal(state, 'queued');
  const core = relay.core.relay(LOCAL_CALLER, relay.url);
  const { channel } = await core.tasks.get(task);
  assert.equal(channel, 'agent-tasks@reviewer');
  await core.tasks.done(task, { data: 'looks good' });
  assert.equal(await http.call('task_result', { task }), 'looks good');
  assert.match(await http.call('task_result', { task: crypto.randomUUID() }), /id that bridge_task returned/);
});
