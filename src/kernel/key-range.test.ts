import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { behindPrefix } from './admission.ts';
import { keyRange } from './key-range.ts';

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

test('a range holds exactly the keys that begin with the prefix and come behind a key, as SQLite sorts them', () => {
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
        `${JSON.stringify(prefix)} behind ${JSON.stringify(after)}`,
      );
    }
  }
  db.close();
});

test('nothing but a blob lies behind the last of all letters', () => {
  assert.deepEqual(behindPrefix('\u{10ffff}'), new Uint8Array());
  assert.equal(behindPrefix('a\u{10ffff}'), 'b');
  assert.equal(behindPrefix('\ud7ff'), '\ue000', 'surrogates are no letters');
});
