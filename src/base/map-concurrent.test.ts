import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConcurrencyLimit, mapConcurrent } from './map-concurrent.ts';
import { pause } from './pause.ts';

test('after a failure no item is started, and the error is thrown when the running items have ended', async () => {
  const items = Array.from({ length: 1000 }, (_, i) => i);
  let under = 0;
  let begun = 0;
  const work = async (item: number) => {
    begun++;
    under++;
    await pause(item === 3 ? 1 : 20);
    under--;
    if (item === 3) throw new Error('the fourth');
  };
  await assert.rejects(mapConcurrent(items, work), /the fourth/);
  assert.deepEqual([under, begun], [0, 250]);
});

test('results are in the order of the items', async () => {
  assert.deepEqual(
    await mapConcurrent([3, 1, 2], async (ms) => {
      await pause(ms * 5);
      return ms;
    }),
    [3, 1, 2],
  );
});

test('items of an async source are processed as they arrive, never more than the width at once', async () => {
  async function* items() {
    for (let i = 0; i < 20; i++) {
      await pause(0);
      yield i;
    }
  }
  let running = 0;
  let most = 0;
  const doubled = await mapConcurrent(
    items(),
    async (item) => {
      most = Math.max(most, ++running);
      await pause(2);
      running--;
      return item * 2;
    },
    3,
  );
  assert.deepEqual(
    doubled,
    Array.from({ length: 20 }, (_, i) => i * 2),
  );
  assert.ok(most <= 3);
});

test('a failing source of items ends the work with its error', async () => {
  async function* items() {
    yield 1;
    throw new Error('no more');
  }
  await assert.rejects(
    mapConcurrent(items(), async () => {}),
    /no more/,
  );
});

test('calls beyond the limit wait, in the order they came', async () => {
  const limit = new ConcurrencyLimit(2);
  const started: number[] = [];
  let running = 0;
  const call = (n: number) =>
    limit.run(async () => {
      started.push(n);
      assert.ok(++running <= 2);
      await pause(1);
      running--;
      if (n === 1) throw new Error('the second');
      return n;
    });
  const outcomes = await Promise.allSettled([0, 1, 2, 3, 4].map(call));
  assert.deepEqual(started, [0, 1, 2, 3, 4]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
});
