import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { type ErrorCode, isRelayError } from '../base/errors.ts';
import type { Json } from '../base/json.ts';
import {
  checkDelta,
  checkExpiry,
  checkKey,
  checkLimit,
  checkPrefix,
  checkRange,
  checkScope,
  compareKeys,
  encodeJson,
  keyRange,
  prefixUpperBound,
} from './validate-input.ts';

test('a key has 1 to 2048 bytes of well-formed UTF-8 without NUL', () => {
  for (const key of [
    'a',
    'é'.repeat(1024),
    '名'.repeat(682),
    '😀'.repeat(512),
    'x'.repeat(2048),
    '\n',
    '../',
  ]) {
    checkKey('a key', key);
  }
  refused('bad_request', () => checkKey('a key', ''), 'a key must not be empty');
  refused('bad_request', () => checkKey('a key', 'a\ud800'), 'a key has an unpaired surrogate');
  refused('bad_request', () => checkKey('a key', 'a\0'), 'a key must not contain a NUL character');
  for (const key of ['é'.repeat(1025), '名'.repeat(683), '😀'.repeat(513), 'x'.repeat(2049)]) {
    refused('too_large', () => checkKey('a key', key), 'Too large: a key is limited to 2,048 bytes (2 KiB).');
  }
});

test('a scope contains the first segment and its slash; a prefix may be empty', () => {
  checkScope('a scope', 'ten.acme/');
  checkScope('a scope', 'ten.acme/threads/a');
  checkPrefix('a prefix', '');
  for (const scope of ['', 'ten.acme'])
    refused('bad_request', () => checkScope('a scope', scope), /first segment/);
});

test('a page has 100 items by default and at most 1000', () => {
  assert.equal(checkLimit(undefined), 100);
  assert.equal(checkLimit(1), 1);
  assert.equal(checkLimit(1000), 1000);
  for (const limit of [0, -1, 1.5, 1001, Number.NaN, Number.POSITIVE_INFINITY]) {
    refused('bad_request', () => checkLimit(limit), /from 1 to 1000/);
  }
});

test('an expiry must be finite and a delta must be a whole number', () => {
  checkExpiry(undefined);
  checkExpiry(0);
  for (const at of [Number.NaN, Number.POSITIVE_INFINITY])
    refused('bad_request', () => checkExpiry(at), /finite/);
  checkDelta(-5);
  for (const delta of [0.1, Number.NaN, 2 ** 53]) refused('bad_request', () => checkDelta(delta), /whole/);
});

test('a range must be inside the blob', () => {
  for (const [start, end] of [
    [0, 0],
    [0, 10],
    [9, 10],
    [10, 10],
  ] as const)
    checkRange({ start, end }, 10);
  for (const [start, end] of [
    [-1, 5],
    [0, 11],
    [11, 11],
    [6, 5],
    [0.5, 1],
    [0, Number.NaN],
  ] as const) {
    refused('range_not_satisfiable', () => checkRange({ start, end }, 10), /which has 10 bytes/);
  }
});

test('the size of JSON is counted in UTF-8 bytes', () => {
  const texts = ['', 'plain', 'é', '名前', '😀', 'a\ud800b', '\0', 'é😀名x'.repeat(50)];
  for (const text of texts) {
    const bytes = new TextEncoder().encode(JSON.stringify(text)).length;
    assert.equal(encodeJson('a record', text, bytes), JSON.stringify(text));
    refused('too_large', () => encodeJson('a record', text, bytes - 1), /a record is limited to/);
  }
  refused(
    'bad_request',
    () => encodeJson('a record', undefined as unknown as Json, 10),
    'a record is not JSON',
  );
});

test('keys are ordered by their UTF-8 bytes', () => {
  const keys = [
    '',
    'a',
    'b',
    'ab',
    'a/',
    'é',
    'z',
    '名',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '😀',
    '😁',
    '\u{10ffff}',
    'a😀',
    'a\uffff',
  ];
  const expected = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual(keys.toSorted(compareKeys), expected);
  for (const a of keys) for (const b of keys) assert.equal(compareKeys(a, b) === 0, a === b);
});

function refused(code: ErrorCode, work: () => unknown, message: string | RegExp): void {
  assert.throws(work, (error) => {
    assert.ok(isRelayError(error, code), `${code}, not ${error}`);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    return true;
  });
}

const TEXTS = [
  '',
  'a',
  'a/',
  'a/b',
  'a/\u{10ffff}',
  'a/\u{10ffff}x',
  'a0',
  'a\ud7ff',
  'a\ud7ffz',
  'a\ue000',
  'aé',
  'a\uffff',
  'a😀',
  'b',
  '\u{10ffff}',
  '\u{10ffff}\u{10ffff}z',
];

test('keyRange selects exactly the keys with the prefix that sort after a key, in SQLite order', () => {
  const db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE t (key TEXT PRIMARY KEY)');
  for (const key of TEXTS) db.prepare('INSERT INTO t VALUES (?)').run(key);
  const all = db
    .prepare('SELECT key FROM t ORDER BY key')
    .all()
    .map((row) => row.key as string);
  for (const prefix of TEXTS) {
    for (const after of [undefined, ...TEXTS]) {
      const { where, from, to } = keyRange(prefix, after);
      const found = db.prepare(`SELECT key FROM t WHERE ${where} ORDER BY key`).all(from, to);
      assert.deepEqual(
        found.map((row) => row.key),
        all.filter(
          (key) =>
            key.startsWith(prefix) &&
            all.indexOf(key) > all.indexOf(after ?? '') - (after === undefined ? 1 : 0),
        ),
        `${JSON.stringify(prefix)} after ${JSON.stringify(after)}`,
      );
    }
  }
  db.close();
});

test('the upper bound of the last code point is an empty blob', () => {
  assert.deepEqual(prefixUpperBound('\u{10ffff}'), new Uint8Array());
  assert.equal(prefixUpperBound('a\u{10ffff}'), 'b');
  assert.equal(prefixUpperBound('\ud7ff'), '\ue000', 'surrogates are skipped');
});
