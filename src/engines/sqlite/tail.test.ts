import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Logs } from '../../kernel/logs.ts';
import { Database } from './database.ts';
import { openSqlite } from './engine.ts';
import { Tail } from './tail.ts';

test('a tail begins where the stream ends, and holds what comes after', async (t) => {
  const { logs, tail, look } = await fixture(t);
  const old = (await logs.append('s', 'old'))!;
  look();
  assert.equal(tail.from, old);
  assert.equal(tail.next(old), null);
  const seq = (await logs.append('s', { new: true }))!;
  assert.equal(tail.next(old), null, 'not before it has looked');
  look();
  assert.deepEqual(tail.next(old)?.data, { new: true });
  assert.equal(tail.next(seq), null);
});

test('those who wait are woken by new entries, once', async (t) => {
  const { logs, tail, look } = await fixture(t);
  look();
  let woken = 0;
  tail.waiting.add(() => woken++);
  look();
  assert.equal(woken, 0);
  await logs.append('s', 1);
  look();
  look();
  assert.equal(woken, 1);
});

test('entries are shared, so nobody can change them', async (t) => {
  const { logs, tail, look } = await fixture(t);
  look();
  await logs.append('s', { list: [{ a: 1 }] });
  look();
  const data = tail.next(0)!.data as { list: { a: number }[] };
  assert.throws(() => data.list.push({ a: 2 }), TypeError);
  assert.throws(() => {
    data.list[0]!.a = 2;
  }, TypeError);
});

test('a tail holds a bounded number of entries and of characters, the newest', async (t) => {
  const { logs, tail, look } = await fixture(t);
  look();
  for (const burst of [10, 300]) {
    const given = await Promise.all(Array.from({ length: burst }, (_, i) => logs.append('s', i)));
    look();
    const last = given.at(-1)!;
    assert.equal(tail.next(last - 1)?.seq, last);
  }
  const held = count(tail);
  assert.ok(held > 100 && held <= 256, `${held} are held`);
  for (let i = 0; i < 5; i++) await logs.append('s', 'x'.repeat(100_000));
  look();
  assert.equal(count(tail), 2);
  const large = (await logs.append('s', 'x'.repeat(1_000_000)))!;
  look();
  assert.equal(count(tail), 1, 'one is held however large');
  assert.equal(tail.next(large - 1)?.seq, large);
});

test('who missed entries that were trimmed is told, and who did not is not', async (t) => {
  const { logs, tail, look } = await fixture(t);
  const first = (await logs.append('s', 0))!;
  look();
  const given: number[] = [];
  for (let i = 1; i <= 5; i++) given.push((await logs.append('s', i))!);
  await logs.trim('s', { before: given[2]! });
  look();
  assert.deepEqual(tail.next(first), { ...tail.next(given[1]!)!, gap: true });
  assert.equal(tail.next(given[1]!)?.seq, given[2]);
  assert.equal(tail.next(given[1]!)?.gap, undefined);
  await logs.trim('s', { before: given[4]! });
  look();
  assert.ok(tail.from >= given[3]!, 'what was trimmed is no longer held');
  assert.equal(tail.next(tail.from)?.seq, given[4]);
});

test('a stream that was dropped takes its entries along', async (t) => {
  const { logs, tail, look } = await fixture(t);
  look();
  const seq = (await logs.append('s', 'secret'))!;
  look();
  await logs.drop('s');
  look();
  assert.ok(tail.from >= seq);
  assert.equal(tail.next(tail.from), null);
  await logs.append('s', 'new');
  look();
  assert.equal(tail.next(tail.from)?.data, 'new');
});

function count(tail: Tail): number {
  let held = 0;
  for (let entry = tail.next(tail.from); entry; entry = tail.next(entry.seq)) held++;
  return held;
}

async function fixture(t: TestContext): Promise<{ logs: Logs; tail: Tail; look(): void }> {
  const home = mkdtempSync(join(tmpdir(), 'relay-tail-'));
  const engine = await openSqlite({ home, durability: 'process' });
  const db = new Database(join(home, 'relay.db'));
  t.after(async () => {
    db.close();
    await engine[Symbol.asyncDispose]();
    rmSync(home, { recursive: true });
  });
  const tail = new Tail('s');
  return { logs: engine.logs, tail, look: () => tail.refresh(db) };
}
