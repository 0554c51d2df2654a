import assert from 'node:assert/strict';
import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { startChild } from './child.ts';
import { temporaryHome } from './home.ts';

interface PrintedEntry {
  readonly seq: number;
  readonly data: number;
}

test('a subscriber receives the entries of three other processes once and in order', async (t) => {
  const home = temporaryHome(t);
  const follower = startChild('follow', { home, stream: 'chn.a', count: 150 });
  assert.equal(await follower.next(), 'following');
  const writers = [0, 1000, 2000].map((from) =>
    startChild('append-some', { home, stream: 'chn.a', from, count: 50, reopen: from === 2000 }),
  );
  await Promise.all(writers.map((writer) => writer.rest()));
  const entries = await follower.rest<PrintedEntry>();
  assert.equal(entries.length, 150);
  for (const [i, { seq }] of entries.entries())
    assert.ok(i === 0 || seq > entries[i - 1]!.seq, 'sequences grow');
  for (const from of [0, 1000, 2000]) {
    assert.deepEqual(
      entries.map(({ data }) => data).filter((data) => data >= from && data < from + 1000),
      Array.from({ length: 50 }, (_, i) => from + i),
    );
  }
});

test('a subscriber receives new entries even if the wake file was replaced', async (t) => {
  const home = temporaryHome(t);
  const follower = startChild('follow', { home, stream: 'chn.b', count: 2 });
  assert.equal(await follower.next(), 'following');
  await startChild('append-some', { home, stream: 'chn.b', from: 1, count: 1 }).rest();
  assert.equal((await follower.next<PrintedEntry>()).data, 1);
  unlinkSync(join(home, 'wake'));
  await startChild('append-some', { home, stream: 'chn.b', from: 2, count: 1 }).rest();
  assert.equal((await follower.next<PrintedEntry>()).data, 2);
  await follower.rest();
});

test('a subscriber receives the entries of a stream that another process dropped and created again', async (t) => {
  const home = temporaryHome(t);
  const engine = await openSqlite({ home });
  await engine.logs.append('chn.c', 1);
  const follower = startChild('follow', { home, stream: 'chn.c', count: 2 });
  assert.equal(await follower.next(), 'following');
  const first = await follower.next<PrintedEntry>();
  await engine.logs.drop('chn.c');
  await engine.logs.append('chn.c', 2);
  const second = await follower.next<PrintedEntry>();
  assert.deepEqual([first.data, second.data], [1, 2]);
  assert.ok(second.seq > first.seq);
  await follower.rest();
  await engine[Symbol.asyncDispose]();
});
