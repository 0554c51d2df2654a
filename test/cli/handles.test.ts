import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { relay, temporaryHome } from './program.ts';

function start(t: TestContext, { serves = false } = {}) {
  const place = temporaryHome();
  t.after(async () => {
    if (serves) await relay(['down'], { home });
    place[Symbol.dispose]();
  });
  const { home } = place;
  const run = (args: readonly string[], stdin?: string) => relay(args, { home, stdin });
  const push = async (text: string, ...flags: string[]) => {
    const { stdout, stderr } = await run(['push', '--json', ...flags], text);
    assert.ok(stdout, stderr);
    return JSON.parse(stdout) as { handle: string; id: string; url: string };
  };
  const pull = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['pull', ...args]);
    return code === 0 ? stdout : `${code} ${stderr}`;
  };
  return { home, run, push, pull };
}

const numberOf = (handle: string) => handle.slice('relay:'.length);

test('commands take a handle, or only its number', async (t) => {
  const { run, push, pull } = start(t);
  const { handle, id } = await push('one\ntwo\n');
  assert.match(handle, /^relay:[1-9]\d*$/);
  assert.equal(await pull(handle), 'one\ntwo\n');
  assert.equal(await pull(numberOf(handle), '--lines', '2'), 'two\n');
  assert.equal((await run(['pull', '-'], `${handle}\n`)).stdout, 'one\ntwo\n');
  assert.equal(JSON.parse((await run(['peek', numberOf(handle), '--json'])).stdout).id, id);
  assert.equal(JSON.parse((await run(['receipts', numberOf(handle), '--json'])).stdout).handle, handle);
  assert.match(
    await pull('relay:12x'),
    /^2 .*"12x" is not a whole number of at least 1[\s\S]*A handle looks like relay:128/,
  );
  assert.match(await pull('99999999'), /^3 .*relay:99999999 does not exist[\s\S]*Check the number/);
  assert.equal((await run(['rm', numberOf(handle)])).code, 0);
  assert.match(await pull(handle), /^3 /);
});

test('ls finds pointers by words and channel, newest first', async (t) => {
  const { run, push } = start(t);
  const first = await push('1', '-m', 'summary=survey of clients', '--channel', 'reviews');
  const second = await push('2', '--name', 'a b.txt');
  const secret = await push('3', '--encrypt');
  const list = async (...args: string[]) => {
    const { stdout } = await run(['ls', ...args]);
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t'));
  };
  const all = await list();
  assert.deepEqual(
    all.map(([url, , title]) => [url, title]),
    [
      [secret.url.split('#')[0], 'encrypted'],
      [second.url, 'a b.txt'],
      [first.url, 'survey of clients'],
    ],
  );
  assert.deepEqual((await list('clients', 'survey')).length, 1);
  assert.deepEqual((await list('--channel', 'reviews')).length, 1);
  assert.deepEqual(await list('nothing'), []);
  const { pointers, more } = JSON.parse((await run(['ls', '-n', '2', '--json'])).stdout);
  assert.deepEqual([pointers.length, more], [2, true]);
  assert.equal((await list('--all')).length, 3);
});

test('renew extends the life of pointers and names those that do not exist', async (t) => {
  const { run, push } = start(t);
  const { url, handle } = await push('one', '--ttl', '1h');
  const expiry = async () => Date.parse(JSON.parse((await run(['peek', url, '--json'])).stdout).expires_at);
  const before = await expiry();
  const renewed = await run(['renew', numberOf(handle), '--ttl', '2d']);
  assert.match(renewed.stdout, new RegExp(`^${handle}  expires in `));
  assert.ok((await expiry()) - before > 40 * 3600_000);
  const { code, stdout, stderr } = await run(['renew', url, 'relay:99999999']);
  assert.equal(code, 3);
  assert.match(stdout, new RegExp(`^${handle}  expires in `));
  assert.match(stderr, /relay:99999999 does not exist, has expired, or is not yours/);
});

test('a handle is not reused after a restore, a move or a reopening', async (t) => {
  const { home, run, push, pull } = start(t);
  const kept = await push('kept');
  const ok = async (...args: string[]) => {
    const { code, stderr } = await run(args);
    assert.equal(code, 0, stderr);
  };
  const [backup, moved] = [join(home, 'backup'), join(home, 'moved')];
  await ok('backup', backup, '--home', home);
  const lost = await push('lost');
  await ok('restore', backup, '--force', '--home', home);
  const restored = await push('restored');
  await ok('engine', 'copy', home, moved);
  const there = await push('moved', '--home', moved);
  await ok('engine', 'reopen', home);
  const reopened = await push('reopened');
  const numbers = [kept, lost, restored, there, reopened].map(({ handle }) => Number(numberOf(handle)));
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(numbers).size, numbers.length, JSON.stringify(numbers));
  assert.equal(await pull(kept.handle), 'kept');
  assert.match(await pull(lost.handle), /^3 /);
});

test('the key of an encrypted payload is kept only on request, for this relay and this handle', async (t) => {
  const { run, push, pull } = start(t, { serves: true });
  const up = JSON.parse((await run(['up', '--detach', '--port', '0', '--json'])).stdout);
  const secret = await push('secret', '--encrypt', '--keep-key');
  const unkept = await push('unkept', '--encrypt');
  assert.equal(await pull(secret.handle), 'secret');
  assert.match(await pull(unkept.handle), /^4 .*has no key/);
  const remote = await push('remote', '--encrypt', '--keep-key', '--url', up.url);
  assert.equal(await pull(numberOf(remote.handle), '--url', up.url), 'remote');
  assert.match(await pull(secret.handle, '--url', up.url), /^4 /);
  assert.match((await run(['push', '--keep-key'], 'x')).stderr, /--keep-key needs --encrypt/);
});

test('relay stats --tools sums outputs by command and subtracts later pulls', async (t) => {
  const { run, push, pull } = start(t);
  const facts = { kind: '=output', command: '=npm test', tokens: ':=300', shown: ':=100' };
  const { handle } = await push(
    'x'.repeat(600),
    ...Object.entries(facts).flatMap((fact) => ['-m', fact.join('')]),
  );
  await pull(handle);
  const { commands } = JSON.parse((await run(['stats', '--tools', '--json'])).stdout);
  assert.deepEqual(commands, [
    { command: 'npm test', runs: 1, tokens: 300, shown: 100, kept_back: 200, pulled: 300, net: -100 },
  ]);
  assert.match((await run(['stats', '--tools'])).stdout, /npm test +1 +300 +100 +200 +300 +-100\n/);
});
