import assert from 'node:assert/strict';
import { test } from 'node:test';
import { freeze } from './json.ts';

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
