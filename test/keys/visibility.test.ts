import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runHere } from '../cli/in-process.ts';
import { atTerminal, temporaryHome } from '../cli/program.ts';
import { type GuardedRelay, startGuarded } from './guarded-relay.ts';

let relay: GuardedRelay;
const place = temporaryHome();
before(async () => {
  relay = await startGuarded({ core: { defaultPlan: 'team' } });
});
after(async () => {
  await relay[Symbol.asyncDispose]();
  place[Symbol.dispose]();
});

test('a key with only the scope push can read public pointers, and nothing else', async () => {
  const owner = await relay.key();
  const pusher = await relay.key({ scopes: ['push'] });
  const push = async (visibility: string) =>
    (await relay.ask('POST', `/push?visibility=${visibility}`, { key: owner, body: 'line\n' })).json.id;
  const [link, tenant] = [await push('link'), await push('tenant')];
  for (const path of ['/pull/ID', '/pull/ID?raw=1', '/pull/ID?lines=1', '/pull/ID?cost=1', '/peek/ID']) {
    const ask = async (id: string, key?: typeof pusher) =>
      (await relay.ask('GET', path.replace('ID', id), { key })).status;
    assert.equal(await ask(link), 200, path);
    assert.equal(await ask(link, pusher), 200, path);
    assert.equal(await ask(tenant, owner), 200, path);
    assert.equal(await ask(tenant, pusher), 403, path);
    assert.equal(await ask('00000000-0000-4000-8000-000000000000', pusher), 403, path);
    assert.equal(await ask(tenant), 404, path);
  }
  assert.equal((await relay.ask('GET', `/pull/${link}/receipts`, { key: pusher })).status, 403);
});

test('a push says who can pull it if the pointer alone is not enough', async () => {
  const owner = await relay.key();
  const pushed = await relay.ask('POST', '/push', { key: owner, body: 'x' });
  assert.equal(pushed.json.visibility, 'tenant');
  const linked = await relay.ask('POST', '/push?visibility=link', { key: owner, body: 'x' });
  assert.ok(!('visibility' in linked.json));

  const o = {
    home: place.home,
    stdin: 'words',
    env: { CONTEXTRELAY_URL: relay.url, CONTEXTRELAY_API_KEY: owner.key },
  };
  const piped = await runHere(['push'], o);
  assert.match(piped.stdout, /^http\S+\n$/);
  assert.match(piped.stderr, /only with a key of your tenant.*--visibility link/s);
  const chosen = await runHere(['push', '--visibility', 'tenant'], o);
  assert.equal(chosen.stderr, '');
  assert.equal((await runHere(['push', '--visibility', 'link'], o)).stderr, '');
  assert.equal(JSON.parse((await runHere(['push', '--json'], o)).stdout).visibility, 'tenant');
  const screen = await atTerminal('echo words | $relay push', o);
  assert.match(screen.stdout, /only with a key of your tenant/);
  assert.match((await runHere(['push', '--help'], o)).stdout, /With API keys.*tenant/s);

  const open = await runHere(['push'], { home: place.home, stdin: 'words' });
  assert.equal(open.stderr, '');
});
