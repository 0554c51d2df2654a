import assert from 'node:assert/strict';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { readBytes, streamFrom } from '../../src/base/byte-streams.ts';
import { writeZip } from '../../src/formats/zip/zip-writer.ts';
import { runHere } from '../cli/in-process.ts';
import { buildHome, EMPTY, FULL, importFrom } from './legacy-checks.ts';
import { openLocal, temporaryHome } from './local-store.ts';

test('an import reports damaged and missing data, and imports the rest', async (t) => {
  const [dir, target] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread } = buildHome(dir);
  home.db.exec(`DELETE FROM states WHERE version = 3; DELETE FROM events WHERE type = 'capability.invoked';
    UPDATE events SET timestamp = 'never', payload = 'none' WHERE type = 'checkpoint.created'`);
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
  const { code, answer } = await importFrom(dir, target);
  assert.equal(code, 0);
  const { notes } = answer.threads.find((one: { thread_id: string }) => one.thread_id === FULL);
  for (const pattern of [
    /^artifacts\/stray\.txt is not listed in relay\.db and was not imported$/,
    new RegExp(`^the file of artifact ${first.ref} .* is missing, so the artifact was not imported$`),
    new RegExp(`^artifact ${second.ref}: its file has the hash \\w+, not the recorded hash \\w+$`),
    new RegExp(`^the name of artifact ${second.ref} was cut to 256 characters$`),
    /^artifact \w+: its type was changed to markdown$/,
    /^v3 cannot be read; the previous version is used instead$/,
    /^null and empty values of the state were dropped$/,
    /^\/plan\/0 of the state had no id; its new id is plan-1$/,
    /^\/plan\/1 of the state is not valid and was dropped$/,
    /^\/decisions\/0\/confidence of the state is not valid and was dropped$/,
    /^the old state\.json is kept as the artifact legacy-state\.json$/,
  ]) {
    assert.ok(
      notes.some((note: string) => pattern.test(note)),
      `${pattern} in ${notes.join('\n')}`,
    );
  }
  await using store = await openLocal(target);
  const state = await store.threads.state(FULL);
  assert.deepEqual([state.version, state.facts], [5, []]);
  assert.deepEqual(state.plan, [{ id: 'plan-1', step: 's', status: '' }]);
  assert.deepEqual(state.decisions, [{ id: 'd', description: 'e' }]);
});

test('without a readable database, the import uses the files and reports what is missing', async (t) => {
  const [dir, target] = [temporaryHome(t), temporaryHome(t)];
  const { home, thread } = buildHome(dir);
  home[Symbol.dispose]();
  writeFileSync(join(dir, 'relay.db'), 'no database at all'.repeat(100));
  const { answer } = await importFrom(dir, target);
  assert.match(answer.changes.join('\n'), /from their files only, because relay\.db cannot be read \(.*\)/);
  await using store = await openLocal(target);
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

test('the ZIP export of a Go relay is recognized, and differs from a bundle and a home', async (t) => {
  const target = temporaryHome(t);
  const file = (name: string, value: object) => ({ name, bytes: Buffer.from(JSON.stringify(value)) });
  const [ref, zip] = ['001a1e29834583ea1e1d1b5b8', join(target, 'relay-export.zip')];
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
  const refused = await runHere(['import', zip], { home: target });
  assert.equal(refused.code, 4);
  assert.match(
    refused.stderr,
    /export of a Go relay.*no artifact contents[\s\S]*relay import --legacy ~\/\.relay/,
  );
  const asHome = await runHere(['import', '--legacy', zip], { home: target });
  assert.equal(asHome.code, 4);
  assert.match(asHome.stderr, /is a file[\s\S]*Pass the home folder of a Go relay/);
});

test('a symlink in a home cannot make the import read files elsewhere', async (t) => {
  const [dir, target, elsewhere] = [temporaryHome(t), temporaryHome(t), temporaryHome(t)];
  const { home, thread } = buildHome(dir);
  home[Symbol.dispose]();
  const [first, second] = [thread.truth().artifacts[0]!, thread.truth().artifacts[1]!];
  const folder = join(dir, 'threads', FULL, 'artifacts');
  const secret = join(elsewhere, 'secret.md');
  writeFileSync(secret, 'secret');
  rmSync(join(folder, `${first.ref}.md`));
  symlinkSync(secret, join(folder, `${first.ref}.md`));
  const moved = join(elsewhere, 'threads');
  renameSync(join(dir, 'threads', EMPTY), moved);
  symlinkSync(moved, join(dir, 'threads', EMPTY));
  const linked = new DatabaseSync(join(dir, 'relay.db'));
  linked.prepare('UPDATE artifacts SET path = ? WHERE ref = ?').run('../../../../secret.md', second.ref);
  linked.exec(`INSERT INTO threads VALUES ('../${FULL}', 'out', '2026-01-01T00:00:00Z', 0)`);
  linked.close();
  const { code, answer } = await importFrom(dir, target);
  assert.equal(code, 0);
  await using store = await openLocal(target);
  const { artifacts } = await store.threads.artifacts(FULL);
  const refs = artifacts.map(({ ref }) => ref);
  assert.deepEqual([refs.length, refs.includes(first.ref), refs.includes(second.ref)], [2, false, false]);
  assert.deepEqual(
    answer.threads.map((one: { thread_id: string }) => one.thread_id),
    [FULL, EMPTY],
  );
});
