import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ChangeMark } from './change-mark.ts';
import { Database } from './database.ts';
import { openDatabase } from './opening.ts';

/** Elsewhere a process cannot look up its own open files, and servers ask SQLite each time. */
const skip = process.platform !== 'linux';

function temporaryHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'relay-mark-'));
  t.after(() => rmSync(home, { recursive: true }));
  return home;
}

test('it stands still until someone commits, on whichever connection', { skip }, async (t) => {
  const home = temporaryHome(t);
  const db = await openDatabase(home, 'process', 'server');
  const other = await openDatabase(home, 'process', 'cli');
  t.after(() => [db, other].map((each) => each.close()));
  const mark = await ChangeMark.of(db);
  assert.ok(mark);
  const first = mark.generation();
  db.sql('SELECT value FROM counter').get();
  other.sql('SELECT value FROM counter').get();
  assert.equal(mark.generation(), first, 'reading is no change');
  for (const each of [db, other]) {
    const before = mark.generation();
    each.sql('BEGIN IMMEDIATE').run();
    each.sql('UPDATE counter SET value = value + 1').run();
    assert.equal(mark.generation(), before, 'not before COMMIT');
    each.sql('COMMIT').run();
    assert.notEqual(mark.generation(), before);
    assert.equal(mark.generation(), mark.generation());
  }
});

test('it outlives the WAL starting anew', { skip }, async (t) => {
  const db = await openDatabase(temporaryHome(t), 'process', 'server');
  t.after(() => db.close());
  const mark = await ChangeMark.of(db);
  assert.ok(mark);
  for (let i = 0; i < 3; i++) {
    db.sql('PRAGMA wal_checkpoint(TRUNCATE)').get();
    const before = mark.generation();
    db.sql('UPDATE counter SET value = value + 1').run();
    assert.notEqual(mark.generation(), before);
  }
});

test('once the store is closed nothing is taken for unchanged', { skip }, async (t) => {
  const db = await openDatabase(temporaryHome(t), 'process', 'server');
  const mark = await ChangeMark.of(db);
  assert.ok(mark);
  const before = mark.generation();
  db.close();
  assert.notEqual(mark.generation(), before);
});

test('there is none where the database has no shared memory', async (t) => {
  const home = temporaryHome(t);
  (await openDatabase(home, 'process', 'cli')).close();
  const db = new Database(join(home, 'relay.db'), { asItIs: true });
  t.after(() => db.close());
  assert.equal(await ChangeMark.of(db), null);
});
