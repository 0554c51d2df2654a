import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tail } from './processes.ts';

const bytes = (text: string) => Buffer.from(text);

test('output within the limit is kept completely, including a character split between two chunks', () => {
  const tail = new Tail(100);
  const euro = bytes('a€b');
  tail.add(euro.subarray(0, 2));
  tail.add(euro.subarray(2));
  assert.equal(tail.text(), 'a€b');
});

test('of longer output the end is kept, with a note that the beginning is missing', () => {
  const tail = new Tail(10);
  for (let i = 0; i < 1000; i++) tail.add(bytes(`${i % 10}`.repeat(5)));
  assert.match(tail.text(), /only the end/);
  assert.ok(tail.text().endsWith('8888899999'));
  assert.ok(tail.text().length < 60);
});
