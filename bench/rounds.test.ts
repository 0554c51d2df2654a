import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTurn } from './rounds.ts';

test('both sides warm up, then neither is always first', async () => {
  const callOrder: string[] = [];
  const side = (name: string) => async () => ({ figure: callOrder.push(name) });
  const measured = await inTurn(side('a'), side('b'), { rounds: 2, warmups: 1 });
  assert.equal(callOrder.join(''), 'ababba');
  assert.deepEqual(measured, [
    { ours: 3, baseline: 4 },
    { ours: 6, baseline: 5 },
  ]);
});

test('CPU time is reported only if it was measured on both sides', async () => {
  const one = async () => ({ figure: 1, work: 2 });
  const once = { rounds: 1, warmups: 0 };
  assert.deepEqual(await inTurn(one, one, once), [{ ours: 1, baseline: 1, work: { ours: 2, baseline: 2 } }]);
  assert.deepEqual(await inTurn(one, async () => ({ figure: 1 }), once), [{ ours: 1, baseline: 1 }]);
});
