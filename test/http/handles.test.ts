import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import { LOCAL_CALLER, type Scope } from '../../src/contract/caller.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { startRelay } from './relay-under-test.ts';

const numberOf = (handle: string | undefined) => Number(/^relay:(\d+)$/.exec(handle ?? '')?.[1]);

test('every call of the SDK takes a handle instead of the URL', async () => {
  await using server = await startRelay();
  const relay = new ContextRelay({ baseUrl: server.url });
  const { handle = '', id } = await relay.pushDetailed('one\ntwo\n', { metadata: { topic: 'counting' } });
  assert.ok(numberOf(handle) >= 1, handle);
  assert.equal(await relay.pull(handle), 'one\ntwo\n');
  assert.equal(await relay.pull(handle, { lines: '2' }), 'two');
  assert.equal((await relay.pullBytes(handle, { range: { start: 0, end: 3 } })).length, 3);
  assert.equal(await new Response(await relay.pullStream(handle)).text(), 'one\ntwo\n');
  assert.deepEqual(await relay.peek(handle), { topic: 'counting' });
  const about = await relay.inspect(handle);
  assert.deepEqual([about.id, about.handle], [id, handle]);
  assert.equal((await relay.cost(handle)).bytes, 8);
  const ladder = await relay.receipts(handle);
  assert.deepEqual([ladder.id, ladder.handle, ladder.reached], [id, handle, 'pulled']);
  assert.deepEqual(
    (await relay.renew([handle, id, 'relay:99999999'], { ttl: 1_000_000 })).map((each) => [
      each.id,
      each.handle,
    ]),
    [[id, handle]],
  );
  await relay.delete(handle);
  await assert.rejects(relay.pull(handle), (error) => isRelayError(error, 'not_found'));
});

test('lists and activity show the handle, and the newest pointer comes first', async () => {
  await using server = await startRelay();
  const relay = server.core.relay(LOCAL_CALLER, server.url);
  const pushed: (string | undefined)[] = [];
  for (let i = 0; i < 40; i++) pushed.push((await relay.pointers.push({ body: new Uint8Array(1) })).handle);
  const { pointers } = await relay.pointers.list({ limit: 200 });
  assert.deepEqual(
    pointers.map(({ handle }) => handle),
    pushed.toReversed(),
  );
  const { activities } = await relay.activity.list({ kind: 'pointer.pushed', limit: 1 });
  assert.equal(activities[0]!.handle, pushed.at(-1));
});

test('the number of a revoked or expired pointer is not reused', async () => {
  await using server = await startRelay();
  const relay = server.core.relay(LOCAL_CALLER, server.url);
  const push = (ttl?: number) => relay.pointers.push({ body: new Uint8Array(1), ttl });
  const revoked = await push();
  await relay.pointers.delete(revoked.id);
  const expired = await push(60);
  server.advance(61_000);
  await server.core.sweepStore();
  const numbers = [revoked, expired, await push()].map(({ handle }) => numberOf(handle));
  assert.ok(numbers[0]! < numbers[1]! && numbers[1]! < numbers[2]!, JSON.stringify(numbers));
  for (const handle of [revoked.handle!, expired.handle!])
    await assert.rejects(relay.pointers.peek(handle), /Not found: relay:\d+ does not exist/);
});

test('concurrent pushes get distinct handles that each resolve to their pointer', async () => {
  await using server = await startRelay();
  const relay = server.core.relay(LOCAL_CALLER, server.url);
  const rounds = await Promise.all(
    Array.from({ length: 16 }, async () => {
      const pointers = [];
      for (let i = 0; i < 5; i++) pointers.push(await relay.pointers.push({ body: new Uint8Array(1) }));
      return pointers;
    }),
  );
  const allPointers = rounds.flat();
  assert.equal(new Set(allPointers.map(({ handle }) => handle)).size, allPointers.length);
  for (const { handle, id } of allPointers) assert.equal((await relay.pointers.peek(handle!)).id, id);
});

test('a retry of a push answers with the handle of the first push', async () => {
  await using server = await startRelay();
  const relay = server.core.relay(LOCAL_CALLER, server.url);
  const push = () => relay.pointers.push({ body: new Uint8Array(1), idempotency_key: 'once' });
  const first = await push();
  assert.deepEqual(await push(), first);
  assert.equal((await relay.pointers.peek(first.handle!)).id, first.id);
  assert.equal((await relay.pointers.list()).pointers.length, 1);
});

test('a mistyped or unknown handle says what is wrong and what to do next', async () => {
  await using server = await startRelay();
  for (const [handle, status, what] of [
    ['relay:12x', 400, /"12x" is not a whole number of at least 1/],
    ['relay:0', 400, /"0" is not a whole number of at least 1/],
    ['relay:-1', 400, /not a whole number/],
    ['relay:', 400, /not a whole number/],
    ['relay:012', 400, /not a whole number/],
    [`relay:${'9'.repeat(40)}`, 400, /not a whole number/],
    ['relay:99999999', 404, /relay:99999999 does not exist/],
  ] as const)
    for (const path of ['peek', 'pull']) {
      const response = await fetch(`${server.url}/${path}/${handle}`);
      const body = (await response.json()) as { error: string; hint: string };
      assert.equal(response.status, status, handle);
      assert.match(body.error, what);
      assert.match(body.hint, /handle/);
    }
});

test('a handle grants no access: resolving it requires the right to list the pointers of the tenant', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const owner = await relay.key();
  const push = async (channel?: string) =>
    (await relay.ask('POST', '/push', { key: owner, body: { data: 'a', channel, visibility: 'link' } })).json;
  const [pushed, on] = [await push(), await push('build.log')];
  const key = async (input: { scopes?: Scope[]; tenant?: string; channel_prefix?: string }) =>
    relay.key(input);
  const statuses = async (handle: string, apiKey?: Awaited<ReturnType<typeof key>>) => {
    const responses = ['/pull/', '/peek/'].map((path) => relay.ask('GET', path + handle, { key: apiKey }));
    return (await Promise.all(responses)).map(({ status }) => status);
  };
  assert.deepEqual(await statuses(pushed.handle, owner), [200, 200]);
  assert.deepEqual(await statuses(pushed.id), [200, 200], 'the link is a capability');
  assert.deepEqual(await statuses(pushed.handle), [401, 401]);
  assert.deepEqual(await statuses(pushed.handle, await key({ scopes: ['push'] })), [403, 403]);
  assert.deepEqual(await statuses(pushed.handle, await key({ tenant: 'other' })), [404, 404]);
  const bound = await key({ channel_prefix: 'build.' });
  assert.deepEqual(await statuses(on.handle, bound), [200, 200]);
  const [hidden, missing] = await Promise.all(
    [pushed.handle, 'relay:987654'].map((handle) => relay.ask('GET', `/peek/${handle}`, { key: bound })),
  );
  assert.equal(hidden!.status, 404);
  assert.equal(hidden!.text, missing!.text.replaceAll('relay:987654', pushed.handle));
  assert.equal((await relay.ask('DELETE', `/pull/${pushed.handle}`, { key: bound })).status, 404);
  assert.equal((await relay.ask('DELETE', `/pull/${pushed.handle}`, { key: owner })).status, 204);
});

test('each tenant has its own handle numbers', async () => {
  await using relay = await startGuarded();
  const first = async (tenant: string) => {
    const key = await relay.key({ tenant });
    const { json } = await relay.ask('POST', '/push', { key, body: { data: tenant } });
    return (await relay.ask('GET', `/pull/${json.handle}`, { key })).json.data + json.handle;
  };
  assert.deepEqual([await first('acme'), await first('other')], ['acmerelay:1', 'otherrelay:1']);
});
