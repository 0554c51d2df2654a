import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Env } from '../../src/base/env.ts';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { fails, ok, refuses, same, sameText } from './assert.ts';
import type { Case } from './case.ts';
import { checkSkips, checkStale, runCase } from './run.ts';

const passing: Case = { name: 'passes', run: async () => {} };
const failing: Case = {
  name: 'fails',
  run: async () => {
    throw new Error('as it should');
  },
};

test('a skip of an unknown case or without a reason fails', () => {
  checkSkips([{ name: 'fails', reason: 'the engine cannot' }], [passing, failing]);
  assert.throws(() => checkSkips([{ name: 'gone', reason: 'x' }], [passing]), /no case is called "gone"/);
  assert.throws(() => checkSkips([{ name: 'fails', reason: ' ' }], [failing]), /without a reason/);
});

test('a skipped case that passes is stale; a skipped case that fails is not', async () => {
  await checkStale(failing, { name: 'fails', reason: 'x' }, open());
  await assert.rejects(checkStale(passing, { name: 'passes', reason: 'too old' }, open()), /stale: too old/);
});

test('each case gets its own engine and clock, and the engine is always closed', async () => {
  let closed = 0;
  const clocked: Case = {
    name: 'clocked',
    async run(engine, clock) {
      await engine.records.put('a/1', 1, { expiresAt: clock.now() + 5 });
      clock.advance(5);
      assert.equal(await engine.records.get('a/1'), null);
    },
  };
  const counting = open(() => closed++);
  await runCase(clocked, counting);
  await runCase(clocked, counting);
  await assert.rejects(runCase(failing, counting), /as it should/);
  assert.equal(closed, 3);
});

test('the assertions fail when they should', async () => {
  assert.throws(() => ok(0, 'zero'), /zero/);
  assert.throws(() => same({ a: 1 }, { a: 2 }));
  assert.throws(() => same([1], [1, 2]));
  assert.throws(() => same(null, undefined));
  assert.throws(() => same(JSON.parse('{"__proto__": 1}'), {}));
  same({ a: 1, b: undefined, c: [{ x: 1, y: 2 }] }, { c: [{ y: 2, x: 1 }], a: 1 });
  assert.throws(() => sameText({ a: 1, b: 2 }, { b: 2, a: 1 }));
  const engine = openMemory();
  await refuses(engine.records.get(''), 'bad_request');
  await assert.rejects(refuses(engine.records.get(''), 'too_large'), /wrong error/);
  await assert.rejects(refuses(engine.records.get('a'), 'too_large'), /not refused/);
  await assert.rejects(fails(engine.records.get('a')), /should have failed/);
});

function open(onClose: () => void = () => {}) {
  return async (env: Env) => {
    const engine = openMemory({ env });
    return { engine, damage: async () => {}, close: async () => onClose() };
  };
}
