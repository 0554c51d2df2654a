import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import { GREP_MATCHES, GREP_TIME_MS, PART_CHARS, PART_LINE_CHARS } from '../../base/limits.ts';
import { type MatcherFactory, takeGrep } from './grep.ts';
import { re2Matcher } from './re2-matcher.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const grep = (text: string, pattern: string, o: { context?: number; ignore_case?: boolean } = {}) =>
  takeGrep(bytes(text), { grep: pattern, ...o }, re2Matcher);

test('matching lines have their numbers', async () => {
  assert.deepEqual(await grep('alpha\nbeta\ngamma\nBeta', 'b.ta'), {
    text: '2:beta',
    about: '1 match in 4 lines',
    truncated: false,
  });
  assert.equal(
    (await grep('alpha\nbeta\ngamma\nBeta', 'b.ta', { ignore_case: true })).text,
    '2:beta\n4:Beta',
  );
});

test('no match gives an empty answer, not an error', async () => {
  assert.deepEqual(await grep('a\nb', 'z'), { text: '', about: '0 matches in 2 lines', truncated: false });
});

test('context is marked, touching blocks are joined, others are separated', async () => {
  const text = 'a\nX1\nb\nc\nX2\nd\ne\nf\ng\nX3';
  assert.equal(
    (await grep(text, 'X', { context: 1 })).text,
    ['1-a', '2:X1', '3-b', '4-c', '5:X2', '6-d', '--', '9-g', '10:X3'].join('\n'),
  );
  assert.equal((await grep(text, 'X')).text, '2:X1\n5:X2\n10:X3');
});

test('context stops at the ends, and a line between two matches is shown once', async () => {
  assert.equal((await grep('X\nX\ny', 'X', { context: 5 })).text, '1:X\n2:X\n3-y');
});

test('the number of matches is limited, and reading stops there', async () => {
  let chunks = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        chunks++;
        controller.enqueue(bytes('hit\n'.repeat(100)));
      },
    },
    { highWaterMark: 0 },
  );
  const part = await takeGrep(body, { grep: 'hit' }, re2Matcher);
  assert.equal(part.text.split('\n').length, GREP_MATCHES);
  assert.equal(part.truncated, true);
  assert.equal(part.about, `the first ${GREP_MATCHES} matches; more follow after line ${GREP_MATCHES}`);
  assert.ok(chunks <= GREP_MATCHES / 100 + 2);
});

test('a search with exactly the maximum of matches is complete', async () => {
  const part = await grep('hit\n'.repeat(GREP_MATCHES), 'hit');
  assert.equal(part.truncated, false);
  assert.equal(part.about, `${GREP_MATCHES} matches in ${GREP_MATCHES} lines`);
});

test('a long line is searched to its end, also across the place where it is cut', async () => {
  for (const at of [10, PART_LINE_CHARS - 3, PART_LINE_CHARS * 5 + 7]) {
    const long = `${'.'.repeat(at)}needle${'.'.repeat(PART_LINE_CHARS * 3)}`;
    const part = await grep(`first\n${long}\nlast`, 'needle');
    assert.match(part.text, /^2:/);
    assert.ok(part.text.length < 2 * PART_LINE_CHARS);
    assert.equal(part.truncated, true);
  }
});

test('an answer that is too large is cut', async () => {
  const part = await grep(`${'x'.repeat(10_000)}\n`.repeat(500), 'x');
  assert.ok(part.text.length <= PART_CHARS);
  assert.equal(part.truncated, true);
  assert.match(part.about, /^104 matches up to line 104, cut at 1048576 characters$/);
});

test('an invalid, backtracking or too large pattern is rejected', async () => {
  for (const pattern of ['(', '(a)\\1', '(?=a)', '[ab]{1000}[cd]{1000}']) {
    await assert.rejects(grep('a', pattern), (error) => isRelayError(error, 'bad_part'));
  }
});

test('a pattern that explodes with backtracking runs in linear time', async () => {
  const text = `${'a'.repeat(5000)}!\n`.repeat(20);
  assert.equal((await grep(text, '(a+)+$')).text, '');
});

test('a search that takes too long is stopped', async () => {
  let now = 0;
  const slow: MatcherFactory = () => ({
    test: () => {
      now += GREP_TIME_MS / 10;
      return false;
    },
  });
  const search = takeGrep(bytes('line\n'.repeat(1000)), { grep: 'x' }, slow, { now: () => now });
  await assert.rejects(search, (error) => isRelayError(error, 'bad_part'));
  assert.ok(now < 2 * GREP_TIME_MS);
});
