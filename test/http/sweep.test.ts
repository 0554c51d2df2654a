import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { pushRaw, serve, startRelay } from './relay-under-test.ts';

test('a server frees the space of expired data within a minute of its start', async () => {
  using place = temporaryHome();
  await using relay = await startRelay({ open: (env) => openSqlite({ home: place.home, env }) });
  await pushRaw(relay, 'x'.repeat(200_000), '?ttl=60');
  await relay.stop();
  const bodies = () => globSync('blobs/*/*', { cwd: place.home });
  assert.equal(bodies().length, 1);
  relay.advance(2 * 60_000);
  const again = await serve(relay.core);
  await until(() => bodies().length === 0);
  await again.stop();
});
