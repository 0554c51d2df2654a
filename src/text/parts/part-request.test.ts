import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import { checkPartRequest, type PartRequest, parseLineRange, parsePartRequest } from './part-request.ts';

function refused(run: () => unknown, says: RegExp): void {
  assert.throws(run, (error) => isRelayError(error, 'bad_part') && says.test(error.message));
}

test('a range of lines is from-to, from-, -last or one number', () => {
  assert.deepEqual(parseLineRange('10-40'), { from: 10, to: 40 });
  assert.deepEqual(parseLineRange('10-'), { from: 10, to: Number.POSITIVE_INFINITY });
  assert.deepEqual(parseLineRange('-20'), { last: 20 });
  assert.deepEqual(parseLineRange('7'), { from: 7, to: 7 });
  assert.deepEqual(parseLineRange(' 3 - 4 '), { from: 3, to: 4 });
});

test('an invalid range is rejected with the reason', () => {
  for (const text of ['', '-', 'abc', '1-2-3', '1,2', '0x10', '1e3', '٣', '9'.repeat(13), null, 7]) {
    refused(() => parseLineRange(text), /is not a range/);
  }
  refused(() => parseLineRange('0'), /lines start at 1, not at 0/);
  refused(() => parseLineRange('0-5'), /lines start at 1, not at 0/);
  refused(() => parseLineRange('-0'), /selects no lines/);
  refused(() => parseLineRange('40-10'), /ends before it begins/);
});

test('parameters become a request, and no parameters mean the whole text', () => {
  assert.equal(parsePartRequest({}), null);
  assert.equal(parsePartRequest({ lines: null, outline: '0' }), null);
  assert.deepEqual(parsePartRequest({ lines: '1-2' }), { lines: '1-2' });
  assert.deepEqual(parsePartRequest({ grep: 'x', context: '2', ignore_case: '1' }), {
    grep: 'x',
    context: 2,
    ignore_case: true,
  });
  assert.deepEqual(parsePartRequest({ json: '' }), { json: '' });
  assert.deepEqual(parsePartRequest({ outline: '1' }), { outline: true });
  assert.deepEqual(parsePartRequest({ question: 'why?' }), { question: 'why?' });
});

test('two parts at once, or an option without its part, are rejected', () => {
  refused(() => parsePartRequest({ lines: '1', grep: 'x' }), /lines and grep/);
  refused(() => parsePartRequest({ lines: '1', context: '3' }), /context needs grep/);
  refused(() => parsePartRequest({ ignore_case: '1' }), /ignore_case needs grep/);
  refused(() => parsePartRequest({ outline: 'maybe' }), /must be 1 or 0/);
  refused(() => parsePartRequest({ grep: 'x', context: 'many' }), /context=many/);
  refused(() => parsePartRequest({ grep: 'x', context: '51' }), /from 0 to 50/);
  refused(() => parsePartRequest({ grep: '' }), /needs a pattern/);
  refused(() => parsePartRequest({ grep: 'x'.repeat(1001) }), /longer than 1000/);
  refused(() => parsePartRequest({ json: 'a/b' }), /does not begin with/);
  refused(() => parsePartRequest({ json: '/a~2' }), /neither ~0 nor ~1/);
});

test('a request that does not match the types is rejected too', () => {
  for (const part of [
    {},
    { lines: 3 },
    { grep: 1 },
    { json: null },
    { outline: false },
    { lines: '1', json: '' },
  ]) {
    refused(() => checkPartRequest(part as unknown as PartRequest), /./);
  }
});
