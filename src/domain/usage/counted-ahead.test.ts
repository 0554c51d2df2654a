import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMemory } from '../../engines/memory/engine.ts';
import { CountedAhead } from './counted-ahead.ts';

/** A sum, and what was done to it. */
function sumOf() {
  const done: string[] = [];
  let value = 0;
  return {
    done,
    get value() {
      return value;
    },
    async add(bytes: number) {
      value += bytes;
      done.push(`+${bytes}`);
    },
    async giveBack(bytes: number) {
      value -= bytes;
      done.push(`-${bytes}`);
    },
  };
}

test('without bytes to count ahead, each write is counted by itself', async () => {
  await using engine = openMemory();
  const ahead = new CountedAhead({ engine });
  const sum = sumOf();
  for (const bytes of [5, 7, 9]) await ahead.count('acme', bytes, sum);
  assert.deepEqual(sum.done, ['+5', '+7', '+9']);
});

test('one write of many within a moment counts for those behind it, and what they did not need is given back', async () => {
  let now = 1_000_000;
  const engine = openMemory({ env: { now: () => now, randomBytes: (n) => new Uint8Array(n) } });
  const ahead = new CountedAhead({ engine }, 100);
  const sum = sumOf();
  for (const bytes of [10, 10, 60, 30]) await ahead.count('acme', bytes, sum);
  assert.deepEqual(sum.done, ['+10', '+110'], 'the second counts for the third and fourth');
  assert.equal(ahead.left('acme'), 10);
  await ahead.count('other', 10, sum);
  assert.deepEqual(sum.done.at(-1), '+10', 'of another tenant nothing is counted yet');
  await engine[Symbol.asyncDispose]();
  assert.deepEqual([sum.value, ahead.left('acme')], [120, 0]);
  now += 10_000;
  await ahead.count('acme', 10, sum);
  assert.equal(sum.done.at(-1), '+10', 'a write after a while is alone again');
});

test('nothing is written on what is not counted yet: the sum is never too low', async () => {
  await using engine = openMemory();
  const ahead = new CountedAhead({ engine }, 100);
  const sum = sumOf();
  await ahead.count('acme', 1, sum);
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = { ...sum, add: () => promise };
  const first = ahead.count('acme', 10, slow);
  assert.equal(ahead.left('acme'), 0);
  assert.notEqual(ahead.count('acme', 10, sum), null);
  resolve();
  await first;
  assert.ok(ahead.left('acme') >= 100);
});
