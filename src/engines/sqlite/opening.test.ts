import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { contents, temporaryHome } from '../../../test/sqlite/home.ts';
import { type ErrorCode, RelayError } from '../../base/errors.ts';
import { openSqlite } from './engine.ts';

test('a database of another program is rejected and not changed', async (t) => {
  const home = temporaryHome(t);
  const db = new DatabaseSync(join(home, 'relay.db'));
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE pushes (id TEXT); INSERT INTO pushes VALUES (1)');
  db.close();
  await refused(home, 'store_foreign');
});

test('a database of another program that is in use is rejected and not changed', async (t) => {
  const home = temporaryHome(t);
  const db = new DatabaseSync(join(home, 'relay.db'));
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE pushes (id TEXT); INSERT INTO pushes VALUES (1)');
  await refused(home, 'store_foreign');
  db.close();
});

test('a home may have any characters in its path', async (t) => {
  const home = join(temporaryHome(t), 'a b?c=d&e#f%20g;ü');
  mkdirSync(home);
  await (await openSqlite({ home }))[Symbol.asyncDispose]();
  await (await openSqlite({ home }))[Symbol.asyncDispose]();
});

test('a database of a newer format is rejected and not changed', async (t) => {
  const home = await filledStore(t);
  const db = new DatabaseSync(join(home, 'relay.db'));
  db.exec('PRAGMA user_version = 99');
  db.close();
  const error = await refused(home, 'store_newer');
  assert.match(error.message, /format 99; this program supports formats up to 3/);
  assert.match(error.hint!, /^Install a newer ContextRelay: .+ newer release.+RELAY_HOME/);
});

test('a newer format that is only in the WAL is rejected, and the database file does not change', async (t) => {
  const home = await filledStore(t);
  const db = new DatabaseSync(join(home, 'relay.db'));
  db.exec('PRAGMA user_version = 99');
  const before = readFileSync(join(home, 'relay.db'));
  await assert.rejects(openSqlite({ home }), { code: 'store_newer' });
  assert.ok(before.equals(readFileSync(join(home, 'relay.db'))));
  db.close();
});

test('a file that is not a database is reported as damaged and not changed', async (t) => {
  for (const content of ['not a database, but as long as a header has to be'.repeat(9), 'short', '']) {
    const home = temporaryHome(t);
    writeFileSync(join(home, 'relay.db'), content);
    await refused(home, 'store_damaged');
  }
});

test('a truncated database is reported as damaged and not changed', async (t) => {
  for (const size of [50, 8192, 3 * 8192 + 100]) {
    const home = await filledStore(t);
    truncateSync(join(home, 'relay.db'), size);
    await refused(home, 'store_damaged');
  }
});

test('a database with an overwritten first page is reported as damaged and not changed', async (t) => {
  const home = await filledStore(t);
  const bytes = readFileSync(join(home, 'relay.db'));
  bytes.fill(0x5a, 100, 8192);
  writeFileSync(join(home, 'relay.db'), bytes);
  await refused(home, 'store_damaged');
});

test('damage deeper in the file fails only the calls that meet it, and they change nothing', async (t) => {
  const home = await filledStore(t);
  const path = join(home, 'relay.db');
  const bytes = readFileSync(path);
  bytes.fill(0x5a, 2 * 8192);
  writeFileSync(path, bytes);
  const before = contents(home);
  const engine = await openSqlite({ home }).catch((error) => error);
  if (engine instanceof Error) {
    assert.equal((engine as RelayError).code, 'store_damaged');
  } else {
    await assert.rejects(engine.records.get('ref.a/1'), { code: 'store_damaged' });
    await assert.rejects(engine.records.put('ref.a/1', 2), { code: 'store_damaged' });
    await engine[Symbol.asyncDispose]();
  }
  assert.deepEqual(contents(home), before);
});

test('a home that is not a folder or not writable is a clear error', async (t) => {
  const home = temporaryHome(t);
  writeFileSync(join(home, 'file'), 'x');
  await assert.rejects(openSqlite({ home: join(home, 'file') }), { code: 'store_unusable' });
  mkdirSync(join(home, 'relay.db'));
  await assert.rejects(openSqlite({ home }), { code: 'store_unusable' });
});

test('a store of an older format is migrated automatically', async (t) => {
  const home = temporaryHome(t);
  const db = new DatabaseSync(join(home, 'relay.db'));
  db.exec('PRAGMA application_id = 0x52454c59; CREATE TABLE of_format_zero (id TEXT)');
  db.close();
  const engine = await openSqlite({ home });
  await engine.records.put('mig.a/1', 'new');
  await engine[Symbol.asyncDispose]();
  const again = new DatabaseSync(join(home, 'relay.db'));
  assert.deepEqual({ ...again.prepare('PRAGMA user_version').get() }, { user_version: 3 });
  again.close();
});

test('only the owner can read the store, and its first bytes identify it', async (t) => {
  const home = join(temporaryHome(t), 'deeper', 'home');
  const engine = await openSqlite({ home });
  await engine.blobs.put('own.a/1', new Uint8Array(200_000));
  await engine.logs.append('own.log', 1);
  const mode = (path: string) => (statSync(join(home, path)).mode & 0o777).toString(8);
  for (const path of ['.', 'blobs']) assert.equal(mode(path), '700', path);
  for (const path of Object.keys(contents(home))) assert.equal(mode(path), '600', path);
  assert.deepEqual(
    Object.keys(contents(home)).filter((path) => !path.startsWith('blobs')),
    ['relay.db', 'relay.db-reserve', 'relay.db-shm', 'relay.db-wal', 'wake'],
  );
  const header = readFileSync(join(home, 'relay.db')).subarray(0, 100);
  assert.equal(header.toString('latin1', 68, 72), 'RELY');
  assert.equal(header.readUInt32BE(60), 3);
  await engine[Symbol.asyncDispose]();
});

/** Creates a store with some data and closes it. */
async function filledStore(t: TestContext): Promise<string> {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home });
  for (let i = 0; i < 20; i++) await engine.records.put(`ref.a/${i}`, 'x'.repeat(500));
  await engine.logs.append('ref.log', 1);
  await engine[Symbol.asyncDispose]();
  return home;
}

async function refused(home: string, code: ErrorCode): Promise<RelayError> {
  const before = contents(home);
  const outcome = await openSqlite({ home }).catch((error) => error);
  assert.ok(outcome instanceof RelayError, `opened, or failed otherwise: ${outcome}`);
  assert.equal(outcome.code, code);
  assert.match(outcome.message, /It was left as it is\.$/);
  assert.deepEqual(contents(home), before, 'not a byte, not a file has changed');
  return outcome;
}
