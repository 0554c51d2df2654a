import assert from 'node:assert/strict';
import { test } from 'node:test';
import { killedWriters } from './killed-writers.ts';

test('kill -9 of four pushing processes during sweeps and backups loses nothing and shows no wrong byte', async () => {
  const { losses, ...counts } = await killedWriters(2_000);
  assert.deepEqual(losses, [], JSON.stringify(counts));
  assert.ok(counts.kills > 0 && counts.reads > 0 && counts.backups > 0, JSON.stringify(counts));
});
