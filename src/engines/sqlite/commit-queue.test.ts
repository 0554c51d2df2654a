import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { RelayError } from '../../base/errors.ts';
import { CommitQueue } from './commit-queue.ts';
import type { Database } from './database.ts';
import { openDatabase } from './opening.ts';

interface Fixture {
  readonly db: Database;
  readonly queue: CommitQueue;
  /** Names of the streams that each commit changed. */
  readonly commits: string[][];
}

test('operations of one event-loop turn become one commit and are answered after it', async (t) => {
  const { queue, db, commits } = await fixture(t);
  const put = (key: string) => queue.run(() => insert(db, key));
  await Promise.all([put('a'), put('b'), Promise.resolve().then(() => put('c'))]);
  assert.equal(commits.length, 1);
  await put('d');
  assert.equal(commits.length, 2);
  assert.deepEqual(keys(db), ['a', 'b', 'c', 'd']);
});

test('a failed operation rolls back its own changes and no others', async (t) => {
  const { queue, db, commits } = await fixture(t);
  const undone: string[] = [];
  const fail = (key: string) =>
    queue.run((tx) => {
      tx.onRollback(() => undone.push(`first of ${key}`));
      tx.onRollback(() => undone.push(`second of ${key}`));
      insert(db, key);
      throw new RelayError('conflict', { what: key });
    });
  const outcomes = await Promise.allSettled([
    queue.run(() => insert(db, 'a')),
    fail('b'),
    queue.run(() => insert(db, 'a')),
    queue.run(() => insert(db, 'c')),
  ]);
  assert.deepEqual(
    outcomes.map((each) => each.status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  await assert.rejects(fail('alone'), { code: 'conflict' });
  assert.deepEqual(keys(db), ['a', 'c']);
  assert.deepEqual(undone, ['second of b', 'first of b', 'second of alone', 'first of alone']);
  assert.equal(commits.length, 1);
});

test('numbers increase across operations and connections, and none is used twice', async (t) => {
  const { queue, db } = await fixture(t);
  const other = await openDatabase(join(db.path, '..'), 'process', 'cli');
  const others = new CommitQueue(other, () => {});
  const given: number[] = [];
  for (let i = 0; i < 20; i++) {
    const take = (each: CommitQueue) => each.run((tx) => [tx.next(), tx.next()]);
    given.push(...(await Promise.all([take(queue), take(queue), take(others)])).flat());
  }
  assert.equal(new Set(given).size, given.length);
  const next = await queue.run((tx) => tx.next());
  assert.ok(given.every((number) => number < next));
  other.close();
});

test('each changed stream is reported once per commit, and never for a failed operation', async (t) => {
  const { queue, db, commits } = await fixture(t);
  await Promise.allSettled([
    queue.run((tx) => tx.touch('x')),
    queue.run((tx) => tx.touch('x')),
    queue.run((tx) => tx.touch('y')),
  ]);
  await Promise.allSettled([
    queue.run((tx) => {
      tx.touch('z');
      insert(db, 'a');
      insert(db, 'a');
    }),
  ]);
  assert.deepEqual(commits, [['x', 'y']]);
});

test('the queue waits for a lock that another process holds', async (t) => {
  const { queue, db } = await fixture(t);
  const other = new DatabaseSync(db.path);
  other.exec('BEGIN IMMEDIATE');
  let done = false;
  const writing = queue
    .run(() => insert(db, 'a'))
    .then(() => {
      done = true;
    });
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(done, false);
  other.exec('COMMIT');
  other.close();
  await writing;
  assert.deepEqual(keys(db), ['a']);
});

test('a large number of operations is split into several commits, in order', async (t) => {
  const { queue, commits } = await fixture(t);
  const order: number[] = [];
  await Promise.all(Array.from({ length: 20 }, (_, i) => queue.run(() => order.push(i), 1024 * 1024)));
  assert.equal(commits.length, 5);
  assert.deepEqual(
    order,
    order.map((_, i) => i),
  );
});

test('closing commits the waiting operations and rejects later ones', async (t) => {
  const { queue, db } = await fixture(t);
  const writing = queue.run(() => insert(db, 'a'));
  await queue.close();
  await writing;
  await assert.rejects(
    queue.run(() => insert(db, 'b')),
    { code: 'store_unavailable' },
  );
  assert.deepEqual(keys(db), ['a']);
});

test('with a sync after COMMIT, nothing is answered before it, and a failed sync fails the operations', async (t) => {
  const { db } = await fixture(t);
  const commits: string[][] = [];
  const waits = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  let began = 0;
  const queue = new CommitQueue(db, (streams) => commits.push([...streams]), {
    sync: () => waits[began++]!.promise,
  });
  const answered: string[] = [];
  const put = (key: string) => queue.run(() => insert(db, key)).then(() => answered.push(key));
  const first = put('a');
  while (began === 0) await new Promise(setImmediate);
  const second = put('b');
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  assert.deepEqual([keys(db), answered, commits.length], [['a'], [], 0]);
  waits[0].resolve();
  await first;
  assert.deepEqual([answered, commits.length], [['a'], 1]);
  while (began === 1) await new Promise(setImmediate);
  waits[1].reject(Object.assign(new Error('fdatasync failed'), { code: 'EIO' }));
  await assert.rejects(second);
  assert.deepEqual([answered, commits.length], [['a'], 1]);
});

async function fixture(t: TestContext): Promise<Fixture> {
  const home = mkdtempSync(join(tmpdir(), 'relay-queue-'));
  const db = await openDatabase(home, 'process', 'cli');
  t.after(() => {
    db.close();
    rmSync(home, { recursive: true });
  });
  const commits: string[][] = [];
  return { db, commits, queue: new CommitQueue(db, (streams) => commits.push([...streams])) };
}

function insert(db: Database, key: string): void {
  db.sql("INSERT INTO records (key, revision, value) VALUES (?, 1, '1')").run(key);
}

function keys(db: Database): string[] {
  return db
    .sql('SELECT key FROM records ORDER BY key')
    .all()
    .map((row) => row.key as string);
}
