import assert from 'node:assert/strict';
import { chmodSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { relay, temporaryHome } from '../cli/program.ts';
import { type Running, serve, start } from './programs.ts';

const place = temporaryHome();
const other = temporaryHome();
const { home } = place;
let server: Running & { url: string };
before(async () => {
  server = await serve(home);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  place[Symbol.dispose]();
  other[Symbol.dispose]();
});

/** Two ways to run a command: directly on the store of this home, or from another home through the server. */
const ways = (): [string, { home: string; env?: Record<string, string> }][] => [
  ['local', { home }],
  ['remote', { home: other.home, env: { CONTEXTRELAY_URL: server.url } }],
];

test('one command publishes a message and another watches it, on the store and over the server', async () => {
  for (const [name, at] of ways()) {
    for (const [otherName, from] of ways()) {
      const channel = `${name}/${otherName}`;
      await using watching = start(['watch', channel, '--json', '--since', 'all'], at);
      const published = await relay(['publish', channel, 'hello', '--json'], from);
      assert.equal(published.code, 0, published.stderr);
      const { seq } = JSON.parse(published.stdout);
      const line = (await watching.waitForOutput(/^(\{.*\})$/m))[1]!;
      const message = JSON.parse(line);
      assert.deepEqual([message.msg, message.seq, message.channel], ['hello', seq, channel]);
      watching.child.kill('SIGINT');
      assert.equal(await watching.ended, 0);
    }
  }
  const { stdout } = await relay(['channels'], { home });
  assert.deepEqual(stdout.trim().split('\n'), [
    'local/local',
    'local/remote',
    'remote/local',
    'remote/remote',
  ]);
});

test('watch --exec runs the command with the payload, and in a group the exit code decides', async () => {
  const script =
    'read line; if [ "$line" = bad ] && [ "$RELAY_ATTEMPT" = 1 ]; then exit 3; fi; echo "$line from $RELAY_FROM try $RELAY_ATTEMPT $RELAY_METADATA"';
  for (const [name, at] of ways()) {
    const channel = `work-${name}`;
    for (const line of ['bad', 'good']) {
      const pushed = await relay(['push', '--channel', channel, '-m', `n=${line}`], {
        ...at,
        stdin: `${line}\n`,
      });
      assert.equal(pushed.code, 0, pushed.stderr);
    }
    await using worker = start(['watch', channel, '--group', 'g', '--exec', script, '-n', '3'], at);
    assert.equal(await worker.ended, 0, worker.output());
    assert.match(worker.output(), /the command ended with exit code 3/);
    assert.match(worker.output(), /bad from local try 2 \{"n":"bad"\}/);
    assert.match(worker.output(), /good from local try 1 \{"n":"good"\}/);
    const { stdout } = await relay(['channel', 'inspect', channel, '--json'], at);
    const { groups } = JSON.parse(stdout);
    assert.deepEqual([groups[0].backlog, groups[0].leases], [0, []]);
    const result = await relay(['channel', 'inspect', channel], at);
    assert.match(result.stdout, /0 messages waiting/);
  }
});

test('watch --exec does not pass on variables of another message from its own environment', async () => {
  await relay(['publish', 'inner', 'a signal'], { home });
  const env = { RELAY_URL: 'of another', RELAY_TOKEN: '7', RELAY_ATTEMPT: '3' };
  const script = 'echo "$RELAY_MSG/$RELAY_URL/$RELAY_TOKEN/$RELAY_ATTEMPT"';
  const watched = await relay(['watch', 'inner', '--since', 'all', '-n', '1', '--exec', script], {
    home,
    env,
  });
  assert.equal(watched.stdout, 'a signal///\n');
});

test('follow and inbox store messages for a named agent, on the store and over the server', async () => {
  for (const [name, at] of ways()) {
    const channel = `news-${name}`;
    const agent = ['--as', `agent-${name}`];
    assert.equal((await relay(['follow', channel, ...agent], at)).code, 0);
    await relay(['publish', channel, '--parse', '{"n": 1}'], at);
    const first = await relay(['inbox', ...agent], at);
    assert.equal(first.stdout, `${channel}\t{"n":1}\n`);
    const second = await relay(['inbox', '--mark-read', '--json'], {
      ...at,
      env: { ...at.env, RELAY_AGENT: agent[1]! },
    });
    assert.equal(JSON.parse(second.stdout).messages.length, 1);
    assert.equal((await relay(['inbox', ...agent], at)).stdout, '');
    assert.equal((await relay(['unfollow', channel, ...agent], at)).code, 0);
    assert.equal((await relay(['unfollow', channel, ...agent], at)).code, 3);
  }
  const nobody = await relay(['inbox'], { home });
  assert.equal(nobody.code, 2);
  assert.match(nobody.stderr, /--as NAME/);
});

test('receipts show each stage with evidence, and --watch shows later stages as they happen', async () => {
  const url = (await relay(['push'], { home, stdin: 'x' })).stdout.trim();
  assert.match((await relay(['receipts', url], { home })).stdout, /^stored +local/);
  await using watching = start(['receipts', url, '--watch', '--json'], { home });
  await watching.waitForOutput(/stored/);
  await relay(['pull', url], { home });
  await watching.waitForOutput(/"reached":"pulled"/);
  const id = url.slice(url.lastIndexOf('/') + 1);
  await relay(['push', '-m', `task_id=${id}`, '-m', 'status=done'], { home, stdin: 'the result' });
  assert.equal(await watching.ended, 0);
  assert.match(watching.output(), /"reached":"result"/);
  assert.match((await relay(['receipts', url], { home })).stdout, /result +local .*done/);
});

test('subscribers with the channel key read encrypted pushes, and only the owner can read the key file', async () => {
  const result = await relay(['channel', 'key', 'new', 'secret'], { home });
  const key = result.stdout.trim();
  assert.match(key, /^[\w-]{43}=$/);
  const file = join(home, 'keyring.json');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  chmodSync(file, 0o644);
  assert.equal((await relay(['channel', 'key', 'show', 'secret'], { home })).stdout.trim(), key);
  assert.equal(statSync(file).mode & 0o777, 0o600, 'closed to others again');
  assert.equal((await relay(['channel', 'key', 'new', 'secret'], { home })).code, 1, 'not by accident');

  await relay(['push', '--encrypt', '--channel', 'secret'], { home, stdin: 'between us' });
  const remote = { home: other.home, env: { CONTEXTRELAY_URL: server.url } };
  const watch = ['watch', 'secret', '--since', 'all', '-n', '1'];
  const sealed = (await relay(watch, remote)).stdout.trim();
  assert.equal((await relay(['pull', sealed], remote)).code, 4);
  const addResult = await relay(['channel', 'key', 'add', 'secret'], { ...remote, stdin: `${key}\n` });
  assert.equal(addResult.code, 0, addResult.stderr);
  assert.deepEqual(
    JSON.parse((await relay(['channel', 'key', 'list', '--json'], remote)).stdout).keys[0].channel,
    'secret',
  );
  const open = (await relay(watch, remote)).stdout.trim();
  assert.equal((await relay(['pull', open], remote)).stdout, 'between us');
  await relay(['follow', 'secret', '--as', 'a', '--since', 'all'], remote);
  const inbox = JSON.parse((await relay(['inbox', '--as', 'a', '--json'], remote)).stdout);
  assert.equal(inbox.messages[0].url, open);
  assert.equal((await relay(['channel', 'key', 'rm', 'secret'], remote)).code, 0);
  assert.equal((await relay(['channel', 'key', 'show', 'secret'], remote)).code, 3);
  const wrong = await relay(['channel', 'key', 'add', 'secret'], { ...remote, stdin: 'nonsense' });
  assert.equal(wrong.code, 2);
});

test('commands report what is wrong and set the exit code', async () => {
  const cases: [string[], number, RegExp][] = [
    [['publish', 'x'.repeat(257), 'hi'], 2, /256/],
    [['publish', 'c', '--parse', '{'], 2, /not JSON/],
    [['publish', 'c', 'x'.repeat(17_000)], 4, /Push it to this channel instead/],
    [['watch', 'c', '--since', 'soon'], 2, /since/],
    [['watch', 'c', '--group', 'g', '--prefetch', '0'], 2, /from 1 to 100/],
    [['watch', 'c', '--url', 'http://127.0.0.1:9'], 5, /does not answer/],
    [['receipts', '00000000-0000-4000-8000-000000000000'], 3, /Not found/],
    [['channel', 'forget-group', 'c', 'none'], 3, /group/],
  ];
  for (const [args, code, pattern] of cases) {
    const ran = await relay(args, { home });
    assert.equal(ran.code, code, `${args.join(' ').slice(0, 60)}: ${ran.stderr}`);
    assert.match(ran.stderr, pattern);
  }
});
