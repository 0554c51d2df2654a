import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { GET_NEWER } from '../../src/base/installing.ts';
import { pause } from '../../src/base/pause.ts';
import { restoreSqlite } from '../../src/engines/sqlite/backup.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { MOVED } from '../../src/engines/sqlite/translate-error.ts';
import { runHere } from '../cli/in-process.ts';
import { manualClock } from '../conformance/case.ts';
import { unpackFolder } from '../pins/store-home.ts';
import { startChild } from './child.ts';
import { filesIn, temporaryHome } from './home.ts';

const FORMAT_1 = readFileSync(new URL('../fixtures/store-v1.home.gz', import.meta.url));

/** Creates a home with a store of format 1. */
function oldHome(t: TestContext): string {
  const home = temporaryHome(t);
  unpackFolder(FORMAT_1, home);
  return home;
}

function format(path: string): unknown {
  const db = new DatabaseSync(path, { readOnly: true });
  const { user_version } = db.prepare('PRAGMA user_version').get()!;
  db.close();
  return user_version;
}

test('opening a store of format 1 migrates it and keeps a copy of the old database', async (t) => {
  const home = oldHome(t);
  const path = join(home, 'relay.db');
  // Leftover of a migration that was killed before it changed the format.
  writeFileSync(`${path}-format-1`, 'half');
  const engine = await openSqlite({ home });
  await engine.blobs.put('new.a/1', Buffer.from('new'));
  await engine[Symbol.asyncDispose]();
  assert.deepEqual([format(path), format(`${path}-format-1`)], [3, 1]);
  assert.equal(statSync(`${path}-format-1`).mode & 0o777, 0o600);
  assert.deepEqual(filesIn(join(home, 'blobs/draft')), []);
  for (const table of ['key, size, sha256, body FROM blobs', 'key, revision, expires, value FROM records']) {
    const [old, now] = [`${path}-format-1`, path].map((file) => {
      const db = new DatabaseSync(file, { readOnly: true });
      const rows = db.prepare(`SELECT ${table} ORDER BY key`).all();
      db.close();
      return rows.filter(({ key }) => key !== 'new.a/1');
    });
    assert.ok(old!.length > 20);
    assert.deepEqual(now, old);
  }
});

test('a store that has moved stays read-only after its migration', async (t) => {
  const home = oldHome(t);
  const path = join(home, 'relay.db');
  const old = new DatabaseSync(path);
  old.exec(`CREATE TABLE moving (target TEXT NOT NULL, until INTEGER);
    INSERT INTO moving VALUES ('nats://new', NULL);
    CREATE TRIGGER moving_3 BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, '${MOVED}nats://new'); END`);
  old.close();
  const engine = await openSqlite({ home });
  await assert.rejects(engine.records.put('new.a/1', 1), { code: 'store_moved' });
  await engine[Symbol.asyncDispose]();
});

test('only the command that migrates a store prints a line about it', async (t) => {
  const home = oldHome(t);
  const first = await runHere(['du', '--json'], { home });
  assert.equal(first.code, 0);
  assert.equal(
    first.stderr,
    'warning The store was migrated from format 1 to format 3, which older versions cannot read. ' +
      `A copy of the old database is kept for a week: ${join(home, 'relay.db-format-1')}\n`,
  );
  assert.ok(existsSync(join(home, 'relay.db-format-1')));
  assert.equal((await runHere(['du', '--json'], { home })).stderr, '');
});

test('a command on a store of a newer version says what to install and does not change the store', async (t) => {
  const home = oldHome(t);
  const path = join(home, 'relay.db');
  const db = new DatabaseSync(path);
  db.exec('PRAGMA user_version = 99');
  db.close();
  const { code, stderr } = await runHere(['du'], { home });
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `error The store at ${path} has format 99; this program supports formats up to 3. It was left as it is.\n` +
      `  → Install a newer ContextRelay: ${GET_NEWER}. Or set RELAY_HOME to another folder.\n`,
  );
  assert.equal(format(path), 99);
});

test('a store that a process of the older version has open is migrated only after that process ends', async (t) => {
  const home = oldHome(t);
  const path = join(home, 'relay.db');
  const old = new DatabaseSync(path);
  old.prepare('SELECT count(*) FROM blobs').get();
  await assert.rejects(openSqlite({ home }), { code: 'busy', hint: /relay down/ });
  assert.equal(format(path), 1);
  old.exec("INSERT INTO records VALUES ('old.a/1', 1, NULL, '1')");
  old.close();
  const engines = await Promise.all(Array.from({ length: 4 }, () => openSqlite({ home })));
  assert.equal((await engines[3]!.records.get('old.a/1'))?.value, 1);
  for (const engine of engines) await engine[Symbol.asyncDispose]();
  assert.equal(format(path), 3);
});

test('if a migration is killed, the next process that opens the store migrates it', async (t) => {
  const home = oldHome(t);
  for (let round = 0; round < 8; round++) {
    const child = startChild('linger', { home });
    // Kill the process each time a little later, so that different stages of the migration are interrupted.
    await pause(60 + round * 25);
    child.process.kill('SIGKILL');
    await child.ended();
  }
  const engine = await openSqlite({ home });
  assert.ok((await engine.usage()).blobs.count > 20);
  await engine[Symbol.asyncDispose]();
});

test('a sweep adds block checksums to intact old bodies and deletes the copy after a week', async (t) => {
  const home = oldHome(t);
  const path = join(home, 'relay.db');
  const clock = manualClock(Date.now());
  const engine = await openSqlite({ home, env: clock.env });
  // Store the bytes of each old body again under a new key. The old body must get the checksums of the new body.
  const { items } = await engine.blobs.list('', { limit: 1000 });
  const damaged = filesIn(home).find((file) => /^blobs\/[0-9a-f]{2}\//.test(file))!;
  for (const { key } of items) {
    const { body } = (await engine.blobs.get(key))!;
    await engine.blobs.put(`new.${key}`, new Uint8Array(await new Response(body as BodyInit).arrayBuffer()));
  }
  writeFileSync(join(home, damaged), 'x', { flag: 'r+' });
  await engine.sweep();
  const db = new DatabaseSync(path, { readOnly: true });
  const blocks = db.prepare('SELECT file, blocks FROM blobs WHERE key = ?');
  for (const { key } of items) {
    const old = blocks.get(key)!;
    if (old.file === damaged) assert.equal(old.blocks, null);
    else assert.deepEqual(old.blocks, blocks.get(`new.${key}`)!.blocks, key);
  }
  db.close();
  assert.ok(existsSync(`${path}-format-1`));
  clock.advance(8 * 24 * 3_600_000);
  await engine.sweep();
  assert.ok(!existsSync(`${path}-format-1`));
  await engine[Symbol.asyncDispose]();
});

test('a backup of format 1 can be restored', async (t) => {
  const backup = oldHome(t);
  const home = join(temporaryHome(t), 'home');
  assert.ok((await restoreSqlite(backup, home)).blobs > 0);
  assert.deepEqual([format(join(backup, 'relay.db')), format(join(home, 'relay.db'))], [1, 3]);
});
