import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { runHere } from '../cli/in-process.ts';
import { extraData } from '../extra-data.ts';
import { assertSame, buildHome, FULL, fact, importFrom, LATER } from './legacy-checks.ts';
import type { LegacyTruth } from './legacy-home.ts';
import { openLocal, temporaryHome } from './local-store.ts';

const contents = (dir: string) =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('-shm'))
    .sort()
    .map((name) => [name, existsSync(join(dir, name, '.')) ? '' : readFileSync(join(dir, name), 'base64')]);

test('the home of a Go relay is imported completely: names, refs, types, hashes, events and versions', async (t) => {
  const [dir, target] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread, empty } = buildHome(dir);
  home[Symbol.dispose]();
  const before = contents(dir);
  const { code, answer } = await importFrom(dir, target);
  assert.equal(code, 0);
  assert.deepEqual(contents(dir), before);
  const summaries = answer.threads.map(
    (one: { name: string; versions: number; notes: string[]; outcome: string }) => {
      return [one.name, one.versions, one.outcome, one.notes];
    },
  );
  assert.deepEqual(summaries, [
    ['発注 "0" \'x\'', 4, 'imported', []],
    ['', 1, 'imported', []],
  ]);
  assert.deepEqual(answer.changes, [
    'Previews and token counts were computed again.',
    'Events state.patch.applied now contain the operations in "ops", not only their number.',
    '1 cached capability result was not imported; its artifacts were.',
    'Its config.json, with the port and the API token, was not imported.',
  ]);
  await using store = await openLocal(target);
  const { threads } = store;
  await assertSame(threads, thread.truth());
  await assertSame(threads, empty.truth());
  for (const [i, state] of thread.states.entries()) {
    assert.deepEqual(await threads.state(FULL, { at: i + 1 }), state);
  }
  assert.deepEqual((await threads.diff(FULL, { from: 2, to: 3 })).ops, [
    { op: 'add', path: '/facts/1', value: fact('f2') },
    { op: 'remove', path: '/plan/0' },
    { op: 'add', path: '/artifacts/0', value: { ref: thread.truth().artifacts[0]!.ref, type: 'markdown' } },
  ]);
  const { events } = thread.truth();
  const later = await threads.events(FULL, { after: events.at(-3)!.id });
  assert.deepEqual(
    later.events.slice(0, 2).map(({ id }) => id),
    events.slice(-2).map(({ id }) => id),
  );
  await assert.rejects(threads.events(FULL, { after: 'ffffffffffffffffff' }), /is not an event id/);
});

test('a thread from a Go relay can be changed and exported like any other', async (t) => {
  const [dir, target, further] = [temporaryHome(t), temporaryHome(t), temporaryHome(t)];
  const { home, thread } = buildHome(dir);
  home[Symbol.dispose]();
  await importFrom(dir, target);
  await using store = await openLocal(target);
  await using other = await openLocal(further);
  const { body } = await store.threads.export(FULL);
  await other.threads.import(body);
  await assertSame(other.threads, thread.truth());
  const { ref } = thread.truth().artifacts[0]!;
  const patched = await store.threads.patch(FULL, {
    ops: [{ op: 'add', path: '/decisions/-', value: { id: 'd', description: 'x', evidence_refs: [ref] } }],
  });
  assert.equal(patched.version, 5);
  const artifact = await store.threads.putArtifact(FULL, { body: Buffer.from('new'), name: 'new.txt' });
  assert.equal(artifact.state_ref, 'v6');
  const state = await store.threads.state(FULL);
  assert.deepEqual(state.facts, thread.states.at(-1)!.facts);
  assert.ok(state.metrics.tokens_estimate > 0);
  assert.deepEqual((await store.threads.search(FULL, '漢字')).hits[0]!.ref, ref);
  assert.equal((await store.threads.artifacts(FULL)).artifacts.length, 5);
  assert.equal((await store.threads.replay(FULL)).matches, true);
  await store.threads.deleteArtifact(FULL, ref);
  await store.threads.delete(FULL);
});

test('the home of a running Go relay is imported with its WAL, and again for new data', async (t) => {
  const [dir, target] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread } = buildHome(dir);
  using _ = home;
  assert.ok(existsSync(join(dir, 'relay.db-wal')));
  assert.equal((await importFrom(dir, target)).answer.imported, 2);
  const later = home.thread(LATER, 'a 2');
  later.patch({ facts: [fact('new')] });
  const { answer } = await importFrom(dir, target);
  const outcomes = answer.threads.map((one: { outcome: string }) => one.outcome);
  assert.deepEqual(outcomes, ['imported', 'here already', 'here already']);
  await using store = await openLocal(target);
  await assertSame(store.threads, thread.truth());
  await assertSame(store.threads, later.truth());
});

test('concurrent patches in a Go relay keep their events, and make each version once', async (t) => {
  const [dir, target] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread } = buildHome(dir);
  const first = thread.patch({ facts: [fact('a')] });
  // Simulate two writers: two events for one version, and the events of the next two versions in the wrong order.
  thread.event('state.patch.applied', { ops: 1, version: first });
  const [next, last] = [thread.version({ facts: [fact('b')] }), thread.version({ facts: [fact('c')] })];
  thread.event('state.patch.applied', { ops: 1, version: last });
  thread.event('state.patch.applied', { ops: 1, version: next });
  home[Symbol.dispose]();
  const { answer } = await importFrom(dir, target);
  assert.deepEqual(answer.threads[0].notes, ['events reordered to match the order of versions: 1']);
  await using store = await openLocal(target);
  const { events } = await store.threads.events(FULL);
  const ids = events.map(({ id }) => id);
  assert.deepEqual(
    [...ids].sort(),
    thread
      .truth()
      .events.map(({ id }) => id)
      .sort(),
  );
  for (const [i, state] of thread.states.entries()) {
    assert.deepEqual(await store.threads.state(FULL, { at: i + 1 }), state);
  }
  const { stdout } = await runHere(['state', 'log', '--all', '-t', FULL], { home: target });
  const versions = stdout.split('\n').map((line) => line.split(' ')[0]);
  assert.deepEqual(versions.slice(0, 7), ['v7', 'v6', 'v5', 'v4', 'v3', 'v2', 'v1']);
});

const real = extraData('legacy');

test('a real home of the original gives the same answers here', async (t: TestContext) => {
  if ('missing' in real) return t.skip(real.missing);
  const [dir, target] = [temporaryHome(t), temporaryHome(t)];
  execFileSync('tar', ['xzf', join(real.path, 'go-relay-home.tar.gz'), '-C', dir]);
  const truths: LegacyTruth[] = JSON.parse(readFileSync(join(real.path, 'go-relay-home.truth.json'), 'utf8'));
  const { answer } = await importFrom(join(dir, '.relay'), target);
  assert.equal(answer.imported, truths.length);
  assert.deepEqual(
    answer.threads.flatMap((one: { notes: string[] }) => one.notes),
    [],
  );
  await using store = await openLocal(target);
  const db = new DatabaseSync(join(dir, '.relay', 'relay.db'), { readOnly: true });
  t.after(() => db.close());
  const states = db.prepare('SELECT version, data FROM states WHERE thread_id = ?');
  for (const truth of truths) {
    await assertSame(store.threads, truth);
    for (const { version, data } of states.all(truth.thread.thread_id)) {
      const at = Number(version);
      assert.deepEqual(await store.threads.state(truth.thread.thread_id, { at }), JSON.parse(String(data)));
    }
  }
});
