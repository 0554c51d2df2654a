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
  assert.equal(await take({ question: 'what is a?' }), '{"a": [1, 2]}\n');
});

test('a question returns the lines that contain its words in any form, and the lines around them', async () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `step ${i} took ${i % 7} ms and copied 4130 rows`);
  lines[11_000] = 'the nightly import was skipped';
  lines[11_004] = 'reason: disk full';
  lines[15_000] = 'cache evicted: pool b';
  lines[16_000] = 'cache evicted: pool c';
  lines[17_000] = 'upload refused with 413';
  const text = new TextEncoder().encode(lines.join('\n'));
  const take = (question: string) => takePart(text, { question }, re2Matcher);
  const skipped = await take('Why did the import skip?');
  assert.match(skipped.text, /^11001 the nightly import was skipped$/m);
  assert.match(skipped.text, /^11005 reason: disk full$/m);
  assert.equal(skipped.about, 'excerpt of 20000 lines for the question');
  assert.match((await take('Which upload got a 413?')).text, /^17001 upload refused/m);
  assert.match((await take('Which pool was evicted last?')).text, /^16001 cache evicted: pool c$/m);
  await assert.rejects(take(''), (error) => isRelayError(error, 'bad_part'));
  await assert.rejects(take('x'.repeat(1_001)), (error) => isRelayError(error, 'bad_part'));
  const binary = takePart(new Uint8Array(5_000), { question: 'x' }, re2Matcher);
  await assert.rejects(binary, (error) => isRelayError(error, 'not_text'));
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
