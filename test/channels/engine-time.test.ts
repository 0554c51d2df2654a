import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { systemEnv } from '../../src/base/env.ts';
import { isRelayError } from '../../src/base/errors.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { manualClock } from '../conformance/case.ts';

const { randomBytes } = systemEnv;

test('expiry and leases use the clock of the engine and no other clock', async () => {
  const clock = manualClock(Date.UTC(2031, 0, 1));
  await using engine = openMemory({ env: clock.env });
  const core = new RelayCore({ engine, env: { randomBytes }, texts: ownTextWork }, { auth: 'keys' });
  const relay = core.relay(LOCAL_CALLER, 'http://relay.test');
  const after = (ms: number) => new Date(clock.now() + ms).toISOString();

  const pushed = await relay.pointers.push({ body: new Uint8Array(3), channel: 'work', ttl: 60 });
  assert.equal(pushed.expires_at, after(60_000));
  const stop = new AbortController();
  const claims = relay.channels.subscribe('work', { group: 'g', signal: stop.signal });
  const { value: claimed } = await claims[Symbol.asyncIterator]().next();
  assert.equal((claimed as { lease_until: number }).lease_until, clock.now() + 30_000);
  stop.abort();
  const { thread_id } = await relay.threads.create({ ttl: 60 });
  const key = await relay.keys.create({ name: 'ann', tenant: 'acme', expires_in: 60 });
  assert.equal(key.expires_at, after(60_000));
  assert.ok(await core.keys.authenticate(key.key));

  clock.advance(60_001);
  const isGone = (error: unknown) => isRelayError(error, 'not_found');
  await assert.rejects(relay.threads.get(thread_id), isGone);
  assert.equal(await core.keys.authenticate(key.key), null);
  await core.close();
});
