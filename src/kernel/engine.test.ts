import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeferredWork } from './engine.ts';

test('work that keeps deferring itself does not prevent closing', async () => {
  const deferred = new DeferredWork();
  let times = 0;
  const again = async () => {
    times++;
    deferred.defer(again, 1000);
  };
  deferred.defer(again);
  await deferred.settle();
  assert.equal(times, 11);
});

test('settle waits for running work and for the work that it defers', async () => {
  const deferred = new DeferredWork();
  const done: string[] = [];
  deferred.defer(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    done.push('first');
    deferred.defer(async () => void done.push('then'), 3_600_000);
  });
  await deferred.settle();
  assert.deepEqual(done, ['first', 'then']);
});
