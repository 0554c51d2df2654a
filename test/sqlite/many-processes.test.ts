import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { systemEnv } from '../../src/base/env.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { startChild } from './child.ts';
import { filesIn, temporaryHome } from './home.ts';

const PROCESSES = 8;
const ROUNDS = 25;

test('eight processes that create a store and write to it at once lose nothing and see no error', async (t) => {
  const home = temporaryHome(t);
  const children = Array.from({ length: PROCESSES }, (_, me) =>
    startChild('write-everything', { home, me, rounds: ROUNDS }),
  );
  const results = (await Promise.all(children.map((child) => child.rest<{ sequences: number[] }>()))).flat();

  const engine = await openSqlite({ home });
  const all = PROCESSES * ROUNDS;
  const { records, logs, blobs } = engine;
  assert.equal((await records.get('all.counter/1'))?.value, all, 'every add counted');
  assert.equal((await records.get('all.race/1'))?.value, all, 'one racing writer won each time');

  const { entries } = await logs.read('all.log', { limit: 1000 });
  assert.equal(entries.length, all);
  for (const [me, { sequences }] of results.entries()) {
    const ownEntries = entries.filter((entry) => (entry.data as { me: number }).me === me);
    assert.deepEqual(
      ownEntries.map((entry) => entry.seq),
      sequences,
      'each has the sequence number that its writer got',
    );
    assert.deepEqual(
      ownEntries.map((entry) => (entry.data as { i: number }).i),
      ownEntries.map((_, i) => i),
    );
  }
  assert.equal((await logs.info('all.ids')).count, all, 'a retry doubled nothing');
  assert.deepEqual(
    (await logs.read('all.fold', { limit: 1000 })).entries.map((entry) => entry.data),
    Array.from({ length: all }, (_, i) => i + 1),
  );

  let files = 0;
  for (let me = 0; me < PROCESSES; me++) {
    for (let i = 0; i < ROUNDS; i++) {
      const blob = await blobs.get(`all.blob/${me}/${i}`);
      assert.equal(blob === null, i % 3 === 0, 'what was deleted is gone, the rest is there');
      if (!blob) continue;
      const bytes = new Uint8Array(await new Response(blob.body as BodyInit).arrayBuffer());
      assert.equal(bytes.length, i % 5 === 0 ? 200_000 : 2000);
      assert.ok(bytes.every((byte) => byte === me * 16 + (i % 16)));
      if (bytes.length > 2000) files++;
    }
  }
  const shared = (await blobs.get('all.blob/shared'))!;
  if (shared.size > 2000) files++;
  const whole = new Uint8Array(await new Response(shared.body as BodyInit).arrayBuffer());
  assert.ok(
    whole.every((byte) => byte === whole[0]) && whole.length === shared.size,
    'the complete body of one writer',
  );
  assert.equal(
    filesIn(home).filter((path) => path.startsWith('blobs')).length,
    files,
    'no body is left over',
  );
  await engine[Symbol.asyncDispose]();
});

test('eight processes that push at once get distinct handles', async (t) => {
  const home = temporaryHome(t);
  const children = Array.from({ length: PROCESSES }, () => startChild('push-handles', { home, rounds: 10 }));
  const handles = (await Promise.all(children.map((child) => child.rest<[string, string][]>()))).flat(2);
  assert.equal(handles.length, PROCESSES * 20);
  assert.equal(new Set(handles.map(([handle]) => handle)).size, handles.length);
  await using engine = await openSqlite({ home });
  const core = new RelayCore({ engine, env: systemEnv, texts: ownTextWork });
  const { pointers } = core.relay(LOCAL_CALLER, 'http://relay.test');
  for (const [handle, id] of handles) assert.equal((await pointers.peek(handle)).id, id);
});
