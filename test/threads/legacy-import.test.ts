import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readBytes, streamFrom } from '../../src/base/byte-streams.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';
import { writeZip } from '../../src/formats/zip/zip-writer.ts';
import { runHere } from '../cli/in-process.ts';
import { LegacyHome, type LegacyTruth } from './legacy-home.ts';
import { openLocal, temporaryHome } from './local-store.ts';

const [FULL, EMPTY, UNKNOWN] = [
  'c754ddba-3648-45f4-abec-8e9863a5bd66',
  'e70f1e4a-cdb5-490e-a2fd-0f651ad0266e',
  '1bb47909-3549-4e11-a213-c97bcf9f42ea',
] as const;
const fact = (id: string) => ({ id, key: 'k', value: { deep: [id, null] } });

/** A home with everything in it that a Go relay keeps in one place or another. */
function build(dir: string) {
  const home = new LegacyHome(dir);
  const thread = home.thread(FULL, '発注 "0" \'x\'', 2);
  const notes = { name: 'ledger-0.md', type: 'markdown', mime: 'text/plain', ext: '.md' };
  const ref = thread.artifact({ ...notes, content: '# ünï 漢字\n'.repeat(300) });
  thread.patch({ facts: [fact('f1')], plan: [{ id: 'p1', step: 's', status: 'pending' }] });
  thread.artifact({ type: 'spreadsheet/csv', mime: 'text/csv', ext: '.bin', content: 'a,b\n1,2\n' });
  thread.patch({ facts: [fact('f1'), fact('f2')], plan: [], artifacts: [{ ref, type: 'markdown' }] });
  const found = {
    name: 'search-a',
    type: 'json',
    mime: 'application/json',
    ext: '.json',
    content: '{"a":1}',
  };
  thread.artifact(found, 'capability.invoked');
  thread.patch({ constraints: [{ id: 'c', description: 'd', severity: 'hard' }] });
  const report = { name: 'report.md', type: 'markdown', mime: 'text/markdown', ext: '.md', content: '# R\n' };
  thread.artifact(report, 'report.generated');
  thread.event('checkpoint.created', { label: 'here' });
  const empty = home.thread(EMPTY, '');
  home.db.exec("INSERT INTO cache VALUES ('k', 'retrieval.search', 'k', '{}', 'r', 't', 'c', 'e', 0)");
  return { home, thread, empty };
}

/** Holds a thread here against what a Go relay said of it. */
async function assertSame(threads: ThreadsApi, truth: LegacyTruth): Promise<void> {
  const { thread_id } = truth.thread;
  const { event_count, created_at, ...info } = await threads.get(thread_id);
  const { created_at: then, ...said } = truth.thread;
  assert.deepEqual(info, said);
  assert.deepEqual([event_count, Date.parse(created_at)], [truth.events.length, Date.parse(then)]);
  assert.deepEqual(await threads.state(thread_id), truth.state);
  const { artifacts } = await threads.artifacts(thread_id, { limit: 1000 });
  const kept = artifacts.map(({ ref, type, mime, name, size, hash, created_at }) => {
    return { ref, type, mime, name, size, hash, created_at };
  });
  const there = truth.artifacts.map(({ ref, type, mime, name = '', size, hash, created_at }) => {
    return { ref, type, mime, name, size, hash, created_at };
  });
  assert.deepEqual(new Set(kept), new Set(there));
  for (const { ref, hash } of truth.artifacts) {
    const { body } = await threads.content(thread_id, ref);
    assert.equal(
      createHash('sha256')
        .update(await readBytes(body))
        .digest('hex'),
      hash,
    );
  }
  const { events } = await threads.events(thread_id, { limit: 1000 });
  assert.deepEqual(
    events
      .filter(({ type }) => type !== 'artifact.pulled')
      .map(({ id, type, timestamp }) => ({ id, type, timestamp })),
    truth.events,
  );
  assert.equal((await threads.replay(thread_id)).matches, true);
}

async function importFrom(dir: string, home: string) {
  const { code, stdout, stderr } = await runHere(['import', '--legacy', dir, '--json'], { home });
  return { code, stderr, answer: JSON.parse(stdout === '' ? 'null' : stdout) };
}

const contents = (dir: string) =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('-shm'))
    .sort()
    .map((name) => [name, existsSync(join(dir, name, '.')) ? '' : readFileSync(join(dir, name), 'base64')]);

test("a Go relay's home comes over whole: names, refs, types, hashes, events and every version", async (t) => {
  const [dir, there] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread, empty } = build(dir);
  home[Symbol.dispose]();
  const before = contents(dir);
  const { code, answer } = await importFrom(dir, there);
  assert.equal(code, 0);
  assert.deepEqual(contents(dir), before);
  const named = answer.threads.map(
    (one: { name: string; versions: number; notes: string[]; outcome: string }) => {
      return [one.name, one.versions, one.outcome, one.notes];
    },
  );
  assert.deepEqual(named, [
    ['発注 "0" \'x\'', 4, 'imported', []],
    ['', 1, 'imported', []],
  ]);
  assert.deepEqual(answer.changes, [
    'Previews are made and tokens are counted anew.',
    'An event state.patch.applied has the operations themselves in "ops", and not only their number.',
    '1 cached result of capabilities stays behind; the artifacts made of it do not.',
    'Its config.json, with port and API token, stays behind.',
  ]);
  await using store = await openLocal(there);
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
  await assert.rejects(threads.events(FULL, { after: 'ffffffffffffffffff' }), /is not the id of an event/);
});

test('a thread that came from a Go relay goes on as any other, and travels on as it is', async (t) => {
  const [dir, there, further] = [temporaryHome(t), temporaryHome(t), temporaryHome(t)];
  const { home, thread } = build(dir);
  home[Symbol.dispose]();
  await importFrom(dir, there);
  await using store = await openLocal(there);
  await using other = await openLocal(further);
  const { body } = await store.threads.export(FULL);
  await other.threads.import(body);
  await assertSame(other.threads, thread.truth());
  const { ref } = thread.truth().artifacts[0]!;
  const patched = await store.threads.patch(FULL, {
    ops: [{ op: 'add', path: '/decisions/-', value: { id: 'd', description: 'x', evidence_refs: [ref] } }],
  });
  assert.equal(patched.version, 5);
  const made = await store.threads.putArtifact(FULL, { body: Buffer.from('new'), name: 'new.txt' });
  assert.equal(made.state_ref, 'v6');
  const state = await store.threads.state(FULL);
  assert.deepEqual(state.facts, thread.states.at(-1)!.facts);
  assert.ok(state.metrics.tokens_estimate > 0);
  assert.deepEqual((await store.threads.search(FULL, '漢字')).hits[0]!.ref, ref);
  assert.equal((await store.threads.artifacts(FULL)).artifacts.length, 5);
  assert.equal((await store.threads.replay(FULL)).matches, true);
  await store.threads.deleteArtifact(FULL, ref);
  await store.threads.delete(FULL);
});

test('a home that a running Go relay has open is read with what is in its WAL, and again for what is new', async (t) => {
  const [dir, there] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread } = build(dir);
  using _ = home;
  assert.ok(existsSync(join(dir, 'relay.db-wal')));
  assert.equal((await importFrom(dir, there)).answer.imported, 2);
  const later = home.thread(UNKNOWN, 'a 2');
  later.patch({ facts: [fact('new')] });
  const { answer } = await importFrom(dir, there);
  const outcomes = answer.threads.map((one: { outcome: string }) => one.outcome);
  assert.deepEqual(outcomes, ['imported', 'here already', 'here already']);
  await using store = await openLocal(there);
  await assertSame(store.threads, thread.truth());
  await assertSame(store.threads, later.truth());
});

test('what is damaged or missing in the home is told, and the rest comes over', async (t) => {
  const [dir, there] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread } = build(dir);
  home.db.exec(`DELETE FROM states WHERE version = 3; DELETE FROM events WHERE type = 'capability.invoked'`);
  const long = 'x'.repeat(300);
  home.db.prepare(`UPDATE artifacts SET name = ? WHERE type = 'spreadsheet/csv'`).run(long);
  home.db.exec(`UPDATE artifacts SET type = 'a b' WHERE name = 'report.md'`);
  const wild = { facts: null, plan: [{ id: '', step: 's', status: '' }, { id: 'x' }], last_actions: [] };
  thread.patch({
    ...wild,
    decisions: [{ id: 'd', description: 'e', confidence: 7, reason_codes: null, at: '' }],
  });
  home[Symbol.dispose]();
  const [first, second] = [thread.truth().artifacts[0]!, thread.truth().artifacts[1]!];
  rmSync(join(dir, 'threads', FULL, 'artifacts', `${first.ref}.md`));
  writeFileSync(join(dir, 'threads', FULL, 'artifacts', `${second.ref}.bin`), 'changed');
  writeFileSync(join(dir, 'threads', FULL, 'artifacts', 'stray.txt'), 'stray');
  const { code, answer } = await importFrom(dir, there);
  assert.equal(code, 0);
  const { notes } = answer.threads.find((one: { thread_id: string }) => one.thread_id === FULL);
  for (const said of [
    /^artifacts\/stray\.txt is unknown to its relay\.db and was left out$/,
    new RegExp(`^the file of artifact ${first.ref} .* is missing; it was left out$`),
    new RegExp(`^artifact ${second.ref}: its file has the hash \\w+ and not \\w+$`),
    new RegExp(`^the name of artifact ${second.ref} was cut to 256 characters$`),
    /^artifact \w+: its type is markdown here$/,
    /^v3 cannot be read; here the content is that of the version before$/,
    /^\/plan\/0 of its state had no id; here it is plan-1$/,
    /^\/plan\/1 of its state does not fit$/,
    /^\/decisions\/0\/confidence of its state does not fit$/,
    /^the old state\.json is kept as the artifact legacy-state\.json$/,
  ]) {
    assert.ok(
      notes.some((note: string) => said.test(note)),
      `${said} in ${notes.join('\n')}`,
    );
  }
  await using store = await openLocal(there);
  const state = await store.threads.state(FULL);
  assert.deepEqual([state.version, state.facts], [5, []]);
  assert.deepEqual(state.plan, [{ id: 'plan-1', step: 's', status: '' }]);
  assert.deepEqual(state.decisions, [{ id: 'd', description: 'e' }]);
});

test('without a database that can be read, the files tell what they can, and what is missing is told', async (t) => {
  const [dir, there] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread } = build(dir);
  home[Symbol.dispose]();
  writeFileSync(join(dir, 'relay.db'), 'no database at all'.repeat(100));
  const { answer } = await importFrom(dir, there);
  assert.match(
    answer.changes.join('\n'),
    /from their files alone, because its relay\.db cannot be read \(.*\)/,
  );
  await using store = await openLocal(there);
  const { name, state_version, artifact_count } = await store.threads.get(FULL);
  const truth = thread.truth();
  assert.deepEqual([name, state_version, artifact_count], [truth.thread.name, 4, 4]);
  assert.deepEqual(await store.threads.state(FULL), truth.state);
  const { events } = await store.threads.events(FULL);
  assert.deepEqual(
    events.map(({ id, type, timestamp }) => [id, type, timestamp]),
    truth.events.map(({ id, type, timestamp }) => [id, type, `${timestamp.slice(0, 23)}Z`]),
  );
});

test("a Go relay's ZIP is told apart, from a bundle and from a home", async (t) => {
  const there = temporaryHome(t);
  const file = (name: string, value: object) => ({ name, bytes: Buffer.from(JSON.stringify(value)) });
  const [ref, zip] = ['001a1e29834583ea1e1d1b5b8', join(there, 'relay-export.zip')];
  const entries = async function* () {
    yield file('manifest.json', {
      relay_version: '1.0.0',
      thread_id: FULL,
      artifact_count: 1,
      event_count: 1,
    });
    for (const name of ['thread', 'state', 'events']) yield file(`${name}.json`, {});
    yield file(`artifacts/${ref}`, { ref });
  };
  writeFileSync(zip, await readBytes(streamFrom(writeZip(entries()))));
  const refused = await runHere(['import', zip], { home: there });
  assert.equal(refused.code, 4);
  assert.match(
    refused.stderr,
    /export of a Go relay.*without their contents[\s\S]*relay import --legacy ~\/\.relay/,
  );
  const asHome = await runHere(['import', '--legacy', zip], { home: there });
  assert.equal(asHome.code, 4);
  assert.match(asHome.stderr, /is a file[\s\S]*Name the folder of a Go relay/);
});

const REAL = fileURLToPath(new URL('../../../shared/legacy/', import.meta.url));

test('a real home of the original says the same here', {
  skip: !existsSync(REAL),
}, async (t: TestContext) => {
  const [dir, there] = [temporaryHome(t), temporaryHome(t)];
  execFileSync('tar', ['xzf', join(REAL, 'go-relay-home.tar.gz'), '-C', dir]);
  const truths: LegacyTruth[] = JSON.parse(readFileSync(join(REAL, 'go-relay-home.truth.json'), 'utf8'));
  const { answer } = await importFrom(join(dir, '.relay'), there);
  assert.equal(answer.imported, truths.length);
  assert.deepEqual(
    answer.threads.flatMap((one: { notes: string[] }) => one.notes),
    [],
  );
  await using store = await openLocal(there);
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
