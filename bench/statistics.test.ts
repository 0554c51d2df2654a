import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median, summarise } from './statistics.ts';

test('the median is the middle one, or the mean of the two in the middle', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]));
});

test('the ratio is taken within each round, so that a slow spell does not count against one side', () => {
  const rounds = [
    { ours: 2, baseline: 1 },
    { ours: 20, baseline: 10 },
    { ours: 200, baseline: 100 },
  ];
  assert.equal(summarise(rounds, 'ms', '').ratio, 2);
});

test('a lower rate is a higher ratio', () => {
  assert.equal(summarise([{ ours: 500, baseline: 1000 }], '/s', '').ratio, 2);
});

test('CPU time is summarised next to a rate, and less CPU time gives a lower ratio', () => {
  const round = { ours: 500, baseline: 1000, work: { ours: 1, baseline: 4 } };
  const { ratio, work } = summarise([round, round], '/s', '');
  assert.deepEqual([ratio, work?.ratio, work?.unit], [2, 0.25, 'ms']);
});
