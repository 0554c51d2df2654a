import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tail } from './processes.ts';

const bytes = (text: string) => Buffer.from(text);

test('what fits is kept whole, also a character that came in two pieces', () => {
  const tail = new Tail(100);
  const euro = bytes('a€b');
  tail.add(euro.subarray(0, 2));
  tail.add(euro.subarray(2));
  assert.equal(tail.text(), 'a€b');
});

test('beyond the limit the end is kept, and it is said that the beginning is missing', () => {
  const tail = new Tail(10);
  for (let i = 0; i < 1000; i++) tail.add(bytes(`${i % 10}`.repeat(5)));
  assert.match(tail.text(), /only the end/);
  assert.ok(tail.text().endsWith('8888899999'));
  assert.ok(tail.text().length < 60);
});
