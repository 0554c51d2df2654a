import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import type { PartRequest } from './part-request.ts';
import { re2Matcher } from './re2-matcher.ts';
import { takePart } from './take-part.ts';

const body = new TextEncoder().encode('{"a": [1, 2]}\n');

test('every kind of part works through takePart', async () => {
  const take = async (request: PartRequest) => (await takePart(body, request, re2Matcher)).text;
  assert.equal(await take({ lines: '1' }), '{"a": [1, 2]}');
  assert.equal(await take({ grep: 'a' }), '1:{"a": [1, 2]}');
  assert.equal(await take({ json: '/a/1' }), '2');
  assert.match(await take({ outline: true }), /^json, 1 line, 14 bytes\n/);
});

test('the stream of a rejected request is closed', async () => {
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    cancel() {
      cancelled = true;
    },
  });
  await assert.rejects(takePart(stream, { lines: 'x' }, re2Matcher), (error) =>
    isRelayError(error, 'bad_part'),
  );
  assert.equal(cancelled, true);
});
