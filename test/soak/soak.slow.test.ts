import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soak } from './soak.ts';

test('acknowledged data survives kills, full disks and attacks of other tenants', async () => {
  const { losses, ...outcome } = await soak(20_000);
  assert.deepEqual(losses, [], JSON.stringify(outcome));
  assert.ok(outcome.acknowledged > 0 && outcome.checked >= outcome.acknowledged);
  assert.ok(outcome.kills > 0 && outcome.slowReaders > 0);
  const answered = Object.entries(outcome.attacks).filter(([, statuses]) => Object.keys(statuses).length > 0);
  assert.equal(answered.length, 4, JSON.stringify(outcome.attacks));
});
