import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { startGuarded } from './guarded-relay.ts';

const acme = { tenant: 'acme' };

test('a key has one successor, however often and fast it is rotated', async () => {
  await using relay = await startGuarded();
  const key = await relay.key();
  const rotate = () => relay.core.keys.rotate(LOCAL_CALLER, key.id, { ...acme, grace: 60 });
  const results = await Promise.allSettled(Array.from({ length: 8 }, rotate));
  const newKeys = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  assert.equal(newKeys.length, 1);
  await assert.rejects(rotate(), { code: 'conflict', status: 409 });
  const listed = (await relay.core.keys.list(LOCAL_CALLER, acme)).map(({ id }) => id);
  assert.deepEqual(listed.sort(), [key.id, newKeys[0]!.id].sort());
  assert.equal((await relay.ask('POST', '/push', { key: newKeys[0], body: 'x' })).status, 200);
});

test('repeated rotation does not leave a chain of valid keys', async () => {
  await using relay = await startGuarded();
  const first = await relay.key();
  const second = await relay.core.keys.rotate(LOCAL_CALLER, first.id, { ...acme, grace: 60 });
  const rotate = () => relay.core.keys.rotate(LOCAL_CALLER, second.id, { ...acme, grace: 60 });
  await assert.rejects(rotate(), { code: 'conflict' });
  await relay.core.keys.revoke(LOCAL_CALLER, first.id, acme);
  assert.ok((await rotate()).key);
});

test('a key whose successor was revoked counts against the plan again', async () => {
  await using relay = await startGuarded();
  const [one] = [await relay.key(), await relay.key()];
  const next = await relay.core.keys.rotate(LOCAL_CALLER, one!.id, { ...acme, grace: 60 });
  await relay.core.keys.revoke(LOCAL_CALLER, next.id, acme);
  await assert.rejects(relay.key(), { code: 'too_many_keys' });
});

test('a key that is revoked while it is rotated stays revoked', async () => {
  await using relay = await startGuarded();
  const key = await relay.key();
  await Promise.allSettled([
    relay.core.keys.rotate(LOCAL_CALLER, key.id, { ...acme, grace: 60 }),
    relay.core.keys.revoke(LOCAL_CALLER, key.id, acme),
  ]);
  assert.equal((await relay.ask('POST', '/push', { key, body: 'x' })).status, 401);
});
