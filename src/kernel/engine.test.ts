import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeferredWork } from './engine.ts';

test('work that defers itself again and again does not keep an engine from closing', async () => {
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

test('what runs for long is waited for, and so is what it defers', async () => {
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
