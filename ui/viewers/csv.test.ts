import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvRows, separatorOf } from './csv.ts';

test('quotes hold separators, line ends and quotes', () => {
  assert.deepEqual(csvRows('a,b\r\n"1,""2""\n3",4\n', ','), [
    ['a', 'b'],
    ['1,"2"\n3', '4'],
  ]);
  assert.deepEqual(csvRows('a;b;', ';'), [['a', 'b', '']]);
  assert.deepEqual(csvRows('', ','), []);
  assert.deepEqual(csvRows('"open', ','), [['open']]);
});

test('the separator is what the first line has most of', () => {
  assert.equal(separatorOf('a;b;c,d\n1,2,3,4,5'), ';');
  assert.equal(separatorOf('a\tb'), '\t');
  assert.equal(separatorOf('one'), ',');
});
