import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pause } from '../base/pause.ts';
import { sideBySide } from './side-by-side.ts';

test('a failure is told once nothing is under way any more, and nothing is begun after it', async () => {
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
  await assert.rejects(sideBySide(items, work), /the fourth/);
  assert.deepEqual([under, begun], [0, 250]);
});

test('results are in the order of the items', async () => {
  assert.deepEqual(
    await sideBySide([3, 1, 2], async (ms) => {
      await pause(ms * 5);
      return ms;
    }),
    [3, 1, 2],
  );
});
