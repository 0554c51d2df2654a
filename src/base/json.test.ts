import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeze, memoizeFrozen } from './json.ts';

test('freeze also freezes all nested values', () => {
  const value = freeze({ list: [{ a: 1 }], none: null });
  for (const change of [
    () => Object.assign(value, { more: 1 }),
    () => value.list.push({ a: 2 }),
    () => Object.assign(value.list[0]!, { a: 3 }),
  ])
    assert.throws(change, TypeError);
  assert.deepEqual(value, { list: [{ a: 1 }], none: null });
});

test('a result is memoized for frozen arguments only', () => {
  let made = 0;
  const make = memoizeFrozen(({ n }: { n: number }, name: string) => ({
    text: `${name} ${n}`,
    made: ++made,
  }));
  const fixed = Object.freeze({ n: 1 });
  assert.equal(make(fixed, 'a'), make(fixed, 'a'));
  assert.deepEqual(make(Object.freeze({ n: 1 }), 'a'), { text: 'a 1', made: 2 }, 'its own, though equal');
  const loose = { n: 1 };
  make(loose, 'b');
  loose.n = 2;
  assert.equal(make(loose, 'b').text, 'b 2');
});
