import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, symlinkSync, writeSync } from 'node:fs';
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

test('another file of the store is not taken for the header', { skip }, async (t) => {
  const home = temporaryHome(t);
  const db = await openDatabase(home, 'process', 'server');
  t.after(() => db.close());
  // The WAL starts anew: then the very next commit shows in its first bytes too, and no other.
  db.sql('PRAGMA wal_checkpoint(TRUNCATE)').get();
  symlinkSync('relay.db-wal', join(home, 'other-shm'));
  const misled = {
    path: join(home, 'other'),
    isOpen: true,
    sql: db.sql.bind(db),
    patiently: db.patiently.bind(db),
  };
  assert.equal(await ChangeMark.of(misled as unknown as Database), null);
});

test('what cannot be read whole is never taken for unchanged', { skip }, async (t) => {
  const path = join(temporaryHome(t), 'made');
  const file = openSync(`${path}-shm`, 'w+');
  t.after(() => closeSync(file));
  const write = (commits: number) =>
    writeSync(file, new Int32Array([3_007_000, 0, commits, ...Array(9)]), 0, 48, 0);
  write(1);
  const sql = () => ({ run: () => write(2) });
  const db = { path, isOpen: true, sql, patiently: async (work: () => unknown) => work() };
  const mark = await ChangeMark.of(db as unknown as Database);
  assert.ok(mark);
  assert.equal(mark.generation(), mark.generation());
  for (const length of [40, 0]) {
    ftruncateSync(file, length);
    assert.notEqual(mark.generation(), mark.generation());
  }
});
