import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOneIn } from './records.ts';

test('about one entry in N is sampled, whatever sequence numbers an engine gives', () => {
  for (const sequences of [(i: number) => i, (i: number) => i * 32 + 3, (i: number) => i * 64 + 1]) {
    const turns = Array.from({ length: 64_000 }, (_, i) => isOneIn(64, sequences(i + 1))).filter(
      Boolean,
    ).length;
    assert.ok(turns > 500 && turns < 2_000, `${turns} of 64000`);
  }
});
