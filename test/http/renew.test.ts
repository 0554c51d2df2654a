import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Env } from '../../src/base/env.ts';
import { encodeUtf8 } from '../../src/base/utf8.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { openUnderTest } from '../engine-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { startRelay } from './relay-under-test.ts';

const DAY = 24 * 3600;

test('a pointer that is renewed lives on, with the same id, content and metadata', async () => {
  await using server = await startRelay();
  const relay = new ContextRelay({ baseUrl: server.url });
  const large = 'many words '.repeat(200_000);
  const small = await relay.push('hello', { ttl: DAY, metadata: { topic: 'greeting' } });
  const big = await relay.push(large, { ttl: DAY });
  const before = await relay.inspect(small);
  server.advance(20 * 3600_000);
  const renewed = await relay.renew([small, big, small], { ttl: 30 * DAY });
  assert.equal(renewed.length, 2);
  const { expires_at, ...about } = await relay.inspect(small);
  assert.equal(expires_at, renewed[0]!.expires_at);
  assert.deepEqual({ ...about, expires_at: before.expires_at }, before);
  server.advance(29 * DAY * 1000);
  assert.equal(await relay.pull(small), 'hello');
  assert.equal(await relay.pull(big), large);
  const { pointers } = await server.core.relay(LOCAL_CALLER, server.url).pointers.list();
  assert.equal(pointers.length, 2, 'each is listed once');
});

test('renewing never shortens the lifetime of a pointer', async () => {
  await using server = await startRelay();
  const relay = new ContextRelay({ baseUrl: server.url });
  const url = await relay.push('hello', { ttl: 10 * DAY });
  const { expires_at } = await relay.inspect(url);
  assert.deepEqual(
    (await relay.renew([url], { ttl: DAY })).map((each) => each.expires_at),
    [expires_at],
  );
  const [first] = await relay.renew([url], { ttl: 20 * DAY });
  assert.ok(Date.parse(first!.expires_at) - Date.parse(expires_at!) >= 10 * DAY * 1000);
  server.advance(DAY * 1000);
  assert.deepEqual(
    await relay.renew([url], { ttl: 20 * DAY }),
    [first],
    'it has a quarter more than it needs',
  );
  const [forever] = await relay.renew([url]);
  assert.ok(Date.parse(forever!.expires_at) - Date.now() > 3000 * DAY * 1000);
});

test('pointers with a limit of pulls keep their expiry, and unknown ones are left out', async () => {
  await using server = await startRelay();
  const relay = new ContextRelay({ baseUrl: server.url });
  const once = await relay.push('hello', { ttl: DAY, maxPulls: 1 });
  const { expires_at } = await relay.inspect(once);
  const unknown = `${server.url}/pull/00000000-0000-4000-8000-000000000000`;
  assert.deepEqual(
    (await relay.renew([once, unknown], { ttl: 30 * DAY })).map((each) => each.expires_at),
    [expires_at],
  );
  await relay.delete(once);
  assert.deepEqual(await relay.renew([once]), []);
});

test('only the owning tenant can renew a pointer, up to the limit of its plan', async () => {
  const plans = { brief: { ...PLAN, ttlMs: 2 * DAY * 1000 } };
  await using server = await startGuarded({ core: { plans, defaultPlan: 'brief' } });
  const client = async (tenant: string) => {
    const { key } = await server.key({ name: tenant, tenant });
    return new ContextRelay({ baseUrl: server.url, apiKey: key });
  };
  const [acme, other] = [await client('acme'), await client('other')];
  const url = await acme.push('hello', { visibility: 'link' });
  assert.deepEqual(await other.renew([url], { ttl: 2 * DAY }), []);
  const [renewed] = await acme.renew([url], { ttl: 30 * DAY });
  const remainingMs = Date.parse(renewed!.expires_at) - Date.now();
  assert.ok(remainingMs > 1.9 * DAY * 1000 && remainingMs <= 2 * DAY * 1000, renewed!.expires_at);
});

const PLAN = { pushes: null, pulls: null, keys: 10, payloadBytes: 1_000_000 };

/** Wraps an engine. Each call of the method first runs the function that `between` returns, if there is one. */
function interrupted<P extends 'blobs' | 'records'>(
  part: P,
  method: keyof Engine[P],
  between: () => (() => Promise<unknown>) | null,
): (env: Env) => Promise<Engine> {
  return async (env) => {
    const engine = await openUnderTest(env);
    const call = async (...args: unknown[]) => {
      await between()?.();
      return (engine[part][method] as (...args: unknown[]) => unknown).apply(engine[part], args);
    };
    const calls = new Proxy(engine[part] as object, {
      get: (target, name) => (name === method ? call : Reflect.get(target, name).bind(target)),
    });
    return new Proxy(engine, {
      get: (target, name) => (name === part ? calls : Reflect.get(target, name, target)),
    });
  };
}

test('a pull during a renewal gets the payload', async () => {
  // The renewal happens between the read of the record and the read of the payload.
  let between: (() => Promise<unknown>) | null = null;
  const take = () => {
    const meanwhile = between;
    between = null;
    return meanwhile;
  };
  await using server = await startRelay({ open: interrupted('blobs', 'get', take) });
  const relay = new ContextRelay({ baseUrl: server.url });
  const url = await relay.push('one\ntwo\n', { ttl: DAY });
  between = () => relay.renew([url], { ttl: 30 * DAY });
  assert.equal(await relay.pull(url), 'one\ntwo\n');
  between = () => relay.renew([url], { ttl: 60 * DAY });
  assert.equal(await relay.pull(url, { lines: '2' }), 'two');
});

test('a pointer that is deleted while it is renewed leaves no payload behind', async () => {
  // The renewal happens between the read of the record and its deletion.
  let between: (() => Promise<unknown>) | null = null;
  const take = () => {
    const meanwhile = between;
    between = null;
    return meanwhile;
  };
  await using server = await startRelay({ open: interrupted('records', 'delete', take) });
  const relay = new ContextRelay({ baseUrl: server.url });
  const url = await relay.push('a secret', { ttl: DAY });
  between = () => relay.renew([url], { ttl: 30 * DAY });
  await relay.delete(url);
  await assert.rejects(relay.pull(url), { code: 'not_found' });
  assert.deepEqual(await server.core.deps.engine.blobs.list('ptr.'), { items: [] });
});

test('a request that renews too many, or for too long, is refused', async () => {
  await using server = await startRelay();
  const ask = async (body: unknown) => {
    const headers = { 'Content-Type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(`${server.url}/pointers/renew`, init)).status;
  };
  assert.equal(await ask({ ids: ['no id of a pointer'] }), 200);
  assert.equal(await ask({ ids: Array.from({ length: 101 }, () => 'x') }), 400);
  assert.equal(await ask({ ids: [], ttl: 0 }), 400);
  assert.equal(await ask({ ids: [], ttl: 3651 * DAY }), 400);
  assert.equal(await ask({ ids: [7] }), 400);
  assert.equal(await ask({}), 400);
});

test('a task that is done stays done when its pointer is renewed', async () => {
  await using server = await startRelay();
  const { pointers, tasks } = server.core.relay(LOCAL_CALLER, server.url);
  const { id } = await pointers.push({ body: encodeUtf8('sum up the log'), channel: 'tasks', ttl: DAY });
  await tasks.done(id, { summary: 'summed up' });
  const { result } = await tasks.get(id);
  server.advance(20 * 3600_000);
  await pointers.renew([result!.url.slice(-36)], { ttl: 60 * DAY });
  await pointers.renew([id], { ttl: 30 * DAY });
  server.advance(10 * DAY * 1000);
  assert.equal((await tasks.get(id)).state, 'done');
  await assert.rejects(tasks.fail(id, { summary: 'once more' }), { code: 'conflict' });
  server.advance(40 * DAY * 1000);
  assert.equal((await tasks.get(id)).result?.url, result!.url, 'it is known as long as its result');
});
