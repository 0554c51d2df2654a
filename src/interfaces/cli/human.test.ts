import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import {
  bytes,
  count,
  expiry,
  moment,
  parseCount,
  parseSpan,
  plural,
  printable,
  rows,
  span,
  tokensInWords,
  unpainted,
} from './human.ts';

test('bytes formats a size in the largest fitting unit', () => {
  assert.equal(bytes(0), '0 bytes');
  assert.equal(bytes(1), '1 byte');
  assert.equal(bytes(1023), '1023 bytes');
  assert.equal(bytes(1024), '1 KiB');
  assert.equal(bytes(48_333), '47.2 KiB');
  assert.equal(bytes(1024 * 1024 - 1), '1 MiB');
  assert.equal(bytes(26_214_400), '25 MiB');
});

test('count separates thousands', () => {
  assert.equal(count(999), '999');
  assert.equal(count(1_234_567), '1,234,567');
  assert.equal(plural(1, 'pointer'), '1 pointer');
  assert.equal(plural(2000, 'pointer'), '2,000 pointers');
  const counted = { tokens: 1, tokenizer: 'o200k_base', estimated: false };
  assert.equal(tokensInWords(counted), '1 token (o200k_base)');
});

test('span uses at most two units', () => {
  assert.equal(span(400), '0 seconds');
  assert.equal(span(90_000), '1 minute 30 seconds');
  assert.equal(span(86_400_000), '24 hours');
  assert.equal(span(7 * 86_400_000), '7 days');
  assert.equal(span(5_400_000), '1 hour 30 minutes');
  assert.equal(span(3_601_000), '1 hour');
});

test('moment names today, tomorrow and yesterday', () => {
  const noon = new Date(2026, 10, 12, 12, 0).getTime();
  assert.equal(moment(noon + 7_320_000, noon), 'today at 14:02');
  assert.equal(moment(noon + 86_400_000, noon), 'tomorrow at 12:00');
  assert.equal(moment(noon + 3 * 86_400_000, noon), 'Sun 15 Nov at 12:00');
  assert.equal(moment(new Date(2027, 0, 2, 9, 5).getTime(), noon), 'Sat 2 Jan 2027 at 09:05');
});

test('expiry rounds, so that a new 24-hour pointer shows 24 hours', () => {
  const now = new Date(2026, 10, 12, 12, 0, 0, 0).getTime();
  assert.equal(expiry(new Date(now + 86_400_000 - 40).toISOString(), now), 'in 24 hours, tomorrow at 11:59');
  assert.equal(
    expiry(new Date(now + 90_000 - 3).toISOString(), now),
    'in 1 minute 30 seconds, today at 12:01',
  );
});

test('parseSpan accepts units and plain seconds', () => {
  assert.equal(parseSpan('90s', '--ttl'), 90);
  assert.equal(parseSpan('15m', '--ttl'), 900);
  assert.equal(parseSpan('2H', '--ttl'), 7200);
  assert.equal(parseSpan('7d', '--ttl'), 604_800);
  assert.equal(parseSpan('1h30m', '--ttl'), 5400);
  assert.equal(parseSpan('3600', '--ttl'), 3600);
  for (const wrong of ['', 'soon', '5x', '-5', '1h 30', 'h']) {
    assert.throws(
      () => parseSpan(wrong, '--ttl'),
      (e) => isRelayError(e, 'bad_usage'),
      wrong,
    );
  }
});

test('parseCount rejects anything but a whole number in its range', () => {
  assert.equal(parseCount('3', '--context'), 3);
  for (const wrong of ['', '1.5', '-1', '1e3', 'x', '51']) {
    assert.throws(
      () => parseCount(wrong, '--context', { max: 50 }),
      (e) => isRelayError(e, 'bad_usage'),
      wrong,
    );
  }
});

test('printable escapes control and text-direction characters', () => {
  assert.equal(printable('a\u001b[31mb\u202ec\td\u009b'), 'a\\u001b[31mb\\u202ec\td\\u009b');
});

test('rows are aligned', () => {
  assert.equal(
    rows(unpainted, [
      ['a', '1'],
      ['long', '2'],
    ]),
    'a     1\nlong  2',
  );
});
