import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { duration } from '../../src/base/format.ts';
import { parseWhen } from '../../src/interfaces/cli/commands/messages.ts';
import { Tmux } from '../../src/runners/tmux/tmux.ts';
import { runHere } from './in-process.ts';
import { temporaryHome } from './program.ts';

const home = temporaryHome();
after(() => home[Symbol.dispose]());
const run = (args: readonly string[], o: { stdin?: string; env?: { [name: string]: string } } = {}) =>
  runHere(args, { home: home.home, ...o });

test('the error names an argument that is no pointer or no task', async () => {
  const pull = await run(['pull', './README.md']);
  assert.match(pull.stderr, /Not a pointer/);
  const show = await run(['task', 'show', 'nope']);
  assert.equal(show.code, 2);
  assert.match(show.stderr, /"nope" is not the id or URL of a task\.\n.*relay task list/);
});

test('errors show limits in readable units', async () => {
  const { stderr } = await run(['push', '-', '--ttl', '9000000000'], { stdin: 'x' });
  assert.match(stderr, /from 1 second to 10 years/);
  assert.deepEqual([2_592_000, 5_400, 60, 1].map(duration), [
    '30 days',
    '90 minutes',
    '1 minute',
    '1 second',
  ]);
});

test('an error of the relay about a field names the option', async () => {
  const ttl = await run(['push', '-', '--ttl', '0'], { stdin: 'x' });
  assert.match(ttl.stderr, /^error --ttl is 0 seconds; it must be from /);
  const month = await run(['usage', '--month', '13']);
  assert.match(month.stderr, /^error --month must be a month such as /);
  const json = await run(['push', '-', '--ttl', '0', '--json'], { stdin: 'x' });
  assert.match(JSON.parse(json.stderr).error, /^"ttl" is 0 seconds/);
});

test('a condition that fails names the version of the file, and nothing is changed', async () => {
  assert.equal((await run(['file', 'put', '-', 'notes/a', '--new'], { stdin: 'x' })).code, 0);
  const again = await run(['file', 'put', '-', 'notes/a', '--new'], { stdin: 'y' });
  assert.match(again.stderr, /^error Nothing was changed: the file a is at v1-/);
  const missing = await run(['file', 'put', '-', 'notes/b', '--if-match', 'v3'], { stdin: 'y' });
  assert.match(missing.stderr, /^error Nothing was changed: the file b is not there\./);
});

test('--since is checked before a channel is watched or followed', async () => {
  for (const args of [
    ['watch', 'x'],
    ['follow', 'x', '--as', 'ada'],
  ]) {
    const { code, stderr } = await run([...args, '--since', 'yesterday']);
    assert.equal(code, 2);
    assert.match(stderr, /^error --since "yesterday" is not valid\.\n.*10m for ten minutes ago/);
  }
});

test('--since takes a span of time', async () => {
  const since = Number(parseWhen('10m'));
  const ago = Date.now() - since;
  assert.ok(ago >= 600_000 && ago < 660_000, String(ago));
  assert.deepEqual(['all', '17', '2026-11-12T09:30:00Z', undefined].map(parseWhen), [
    'all',
    '17',
    '2026-11-12T09:30:00Z',
    undefined,
  ]);
  await run(['publish', 'clock', 'tick']);
  const { stdout } = await run(['watch', 'clock', '--since', '10m', '-n', '1']);
  assert.equal(stdout, 'tick\n');
});

test('a message can answer another one', async () => {
  const question = JSON.parse((await run(['publish', 'talk', 'ready?', '--json'])).stdout);
  await run(['publish', 'talk', 'yes', '--reply-to', String(question.seq)]);
  const { stdout } = await run(['watch', 'talk', '--since', String(question.seq), '-n', '1', '--json']);
  assert.equal(JSON.parse(stdout).reply_to, question.seq);
});

test('a dead letter shows the exit code and the last lines of output', async () => {
  await run(['publish', 'work', 'job']);
  const command = 'echo first >&2; echo no rule to make it >&2; exit 3';
  const attempt = () => run(['watch', 'work', '--group', 'workers', '-n', '1', '--exec', command]);
  await attempt();
  const set = await run(['channel', 'group', 'work', 'workers', '--retry', '0s']);
  assert.equal(set.code, 0, set.stderr);
  for (let i = 0; i < 4; i++) await attempt();
  const { letters } = JSON.parse((await run(['channel', 'dead', 'list', 'work', '--json'])).stdout);
  assert.equal(letters[0].dead.why, 'The command ended with exit code 3.\nfirst\nno rule to make it');
  assert.match((await run(['channel', 'dead', 'list', 'work'])).stdout, /exit code 3\.\n.*\n {4}no rule/);
});

test('a channel can be deleted, and its sequence goes on', async () => {
  const first = JSON.parse((await run(['publish', 'old', 'one', '--json'])).stdout);
  assert.equal((await run(['channel', 'rm', 'old'])).code, 0);
  assert.doesNotMatch((await run(['channels'])).stdout, /^old$/m);
  assert.equal((await run(['channel', 'rm', 'old'])).code, 3);
  const second = JSON.parse((await run(['publish', 'old', 'two', '--json'])).stdout);
  assert.ok(second.seq > first.seq);
  assert.equal((await run(['watch', 'old', '--since', 'all', '-n', '1'])).stdout, 'two\n');
});

test('if the home is not writable, doctor names only this cause', async (t) => {
  if (process.getuid?.() === 0) return t.skip('root may write everywhere');
  const locked = join(home.home, 'locked');
  mkdirSync(locked, { mode: 0o500 });
  const { stdout } = await runHere(['doctor', '--json'], { home: locked });
  const wrong = JSON.parse(stdout).checks.filter(({ state }: { state: string }) => state === 'wrong');
  assert.deepEqual(
    wrong.map(({ found }: { found: string }) => found),
    [`${locked} is not writable`],
  );
  chmodSync(locked, 0o700);
});

test('the error for an unknown tmux target shows the format and the existing targets', async (t) => {
  const socket = ['-L', `relay-test-${process.pid}`];
  const { spawnSync } = await import('node:child_process');
  if (spawnSync('tmux', [...socket, 'new-session', '-d', '-s', 'desk', 'sleep 60']).status !== 0)
    return t.skip('tmux is missing');
  t.after(() => spawnSync('tmux', [...socket, 'kill-server']));
  await assert.rejects(
    new Tmux(socket).pane('=nope'),
    /no target "nope".*SESSION:WINDOW\.PANE\. The panes are: desk:0\.0 \(\w+\)/,
  );
});

test('an inbox warns if the messages of other agents cannot be read, but not on an older relay or without the scope', async () => {
  let refusal = '';
  const server = createServer((request, answer) => {
    const isInbox = request.url!.startsWith('/inbox/');
    const inbox = { agent: 'ada', messages: [], cursors: {}, following: ['news'], more: false };
    const failed = { error: 'It failed.', code: refusal, hint: '' };
    answer.writeHead(isInbox ? 200 : 400, { 'Content-Type': 'application/json' });
    answer.end(JSON.stringify(isInbox ? inbox : failed));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const inboxWarning = async (code: string) => {
    refusal = code;
    const { code: exit, stderr } = await run(['inbox', '--as', 'ada', '--url', `http://127.0.0.1:${port}`]);
    assert.equal(exit, 0, stderr);
    return stderr;
  };
  try {
    assert.match(
      await inboxWarning('store_damaged'),
      /^warning The messages of other agents cannot be read: It failed\./,
    );
    assert.equal(await inboxWarning('no_route'), '');
    assert.equal(await inboxWarning('forbidden'), '');
  } finally {
    server.close();
  }
});

test('allowing a sender says how long the permission lasts', async () => {
  const { stdout } = await run(['inbox', '--as', 'ada', '--allow', 'bob']);
  assert.equal(stdout, 'ada receives messages of bob for 30 days\n');
});
