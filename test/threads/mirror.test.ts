import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { loadConfig } from '../../src/app/config.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { hasStale } from '../../src/app/store/stale-marks.ts';
import { systemEnv } from '../../src/base/env.ts';
import { readText } from '../../src/base/utf8.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import { ARTIFACT_FILES } from '../../src/domain/threads/keys.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { mirrored, openLocal, startPatcher, temporaryHome } from './local-store.ts';
import { text } from './open-threads.ts';

const fact = (id: string) => ({ op: 'add' as const, path: '/facts/-', value: { id, key: 'k', value: 'v' } });

async function prepared(t: TestContext): Promise<{ home: string; thread: string }> {
  const home = temporaryHome(t);
  await using store = await openLocal(home);
  const { thread_id: thread } = await store.threads.create({ name: 'legible' });
  await store.threads.patch(thread, { ops: [fact('f1')] });
  return { home, thread };
}

const fileOf = (home: string, thread: string, ref: string) =>
  join(home, 'threads', thread, 'artifacts', `${ref}.txt`);

async function contentOf(threads: ThreadsApi, thread: string, ref: string): Promise<string> {
  return readText((await threads.content(thread, ref)).body);
}

async function agrees(home: string, thread: string): Promise<void> {
  await using store = await openLocal(home);
  await store.core.background.settle();
  await (await store.core.threads()).log.settle();
  const files = mirrored(home, thread);
  assert.deepEqual(files.state, await store.threads.state(thread));
  assert.deepEqual(files.events, (await store.threads.events(thread)).events);
}

describe('the readable files of a thread', () => {
  it('contain its state, events and contents', async (t) => {
    const { home, thread } = await prepared(t);
    {
      await using store = await openLocal(home);
      const artifact = await store.threads.putArtifact(thread, { body: text('# Hello\n'), name: 'a.md' });
      const file = join(home, 'threads', thread, 'artifacts', `${artifact.ref}.md`);
      assert.equal(readFileSync(file, 'utf8'), '# Hello\n');
    }
    await agrees(home, thread);
    assert.match(readFileSync(join(home, 'threads', thread, 'state.json'), 'utf8'), /^\{\n {2}"\$schema"/);
    assert.equal(statSync(join(home, 'threads', thread, 'state.json')).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(home, 'threads', '.stale')), []);
  });

  it('include small contents, which a server writes a moment later, byte for byte', async (t) => {
    const { home, thread } = await prepared(t);
    await using server = await openCore(loadConfig({ RELAY_HOME: home }), 'server');
    const { threads } = server.core.relay(LOCAL_CALLER, 'http://relay.invalid');
    const artifacts = await Promise.all(
      ['one', 'two', 'three'].map((name) => threads.putArtifact(thread, { body: text(name), name })),
    );
    for (const { ref, name } of artifacts) assert.equal(await contentOf(threads, thread, ref), name);
    await (await server.core.threads()).log.settle();
    for (const { ref, name } of artifacts) {
      assert.equal(readFileSync(fileOf(home, thread, ref), 'utf8'), name);
      assert.equal(await contentOf(threads, thread, ref), name);
    }
    writeFileSync(fileOf(home, thread, artifacts[0]!.ref), 'edited');
    await assert.rejects(contentOf(threads, thread, artifacts[0]!.ref), { code: 'store_damaged' });
    assert.equal(await contentOf(threads, thread, artifacts[1]!.ref), 'two');
  });

  it('include a content that a server stored before it died, on the next open', async (t) => {
    const { home, thread } = await prepared(t);
    // Simulates a server that has answered but not yet written the files.
    await using engine = await openSqlite({ home, role: 'server', place: ARTIFACT_FILES });
    const dying = new RelayCore({ engine, env: systemEnv, texts: ownTextWork });
    const { threads } = dying.relay(LOCAL_CALLER, 'http://relay.invalid');
    const { ref } = await threads.putArtifact(thread, { body: text('kept'), name: 'a.txt' });
    assert.equal(existsSync(fileOf(home, thread, ref)), false);
    writeFileSync(join(home, 'threads', '.stale', `${thread}.1.x`), '');
    {
      await using store = await openLocal(home);
      assert.equal(await contentOf(store.threads, thread, ref), 'kept');
      await store.core.background.settle();
    }
    assert.equal(readFileSync(fileOf(home, thread, ref), 'utf8'), 'kept');
    await agrees(home, thread);
    await dying.close();
  });

  it('are completed on the next open if a process died before writing them', async (t) => {
    const { home, thread } = await prepared(t);
    const patcher = startPatcher({ home, thread, name: 'victim', count: 30, stay: true });
    await patcher.made(5);
    patcher.process.kill('SIGKILL');
    await patcher.versions.catch(() => {});
    // Simulates a crash between the commit and the files.
    rmSync(join(home, 'threads', thread, 'state.json'), { force: true });
    appendFileSync(join(home, 'threads', thread, 'events.log'), '{"id":"99","half a li');
    writeFileSync(join(home, 'threads', '.stale', `${thread}.${patcher.process.pid}.x`), '');
    assert.equal(hasStale(home), true);
    {
      await using store = await openLocal(home);
      await store.core.background.settle();
    }
    assert.equal(hasStale(home), false);
    await agrees(home, thread);
  });

  it('are updated by the next change, whatever was done to them', async (t) => {
    const { home, thread } = await prepared(t);
    const log = join(home, 'threads', thread, 'events.log');
    for (const damage of [
      () => rmSync(log),
      () => writeFileSync(log, ''),
      () => writeFileSync(log, 'nonsense\n'),
      () => writeFileSync(log, readFileSync(log, 'utf8').split('\n').slice(0, 1).join('\n')),
      () => appendFileSync(log, '{"id":"900"}\n'),
      () => writeFileSync(join(home, 'threads', thread, 'state.json'), '{}'),
    ]) {
      damage();
      {
        await using store = await openLocal(home);
        await store.threads.patch(thread, { ops: [fact('again')] });
      }
      await agrees(home, thread);
    }
  });

  it('keep an edited state.json under another name, and say so', async (t) => {
    const { home, thread } = await prepared(t);
    const folder = join(home, 'threads', thread);
    const path = join(folder, 'state.json');
    const editedCopies = () => readdirSync(folder).filter((name) => name.startsWith('state.edited-'));
    const warnings: string[] = [];
    {
      // Two changes do not count as edits: another program writes the file with the same content, and a power cut
      // empties the file.
      await using store = await openLocal(home, {}, (what) => warnings.push(what));
      writeFileSync(path, JSON.stringify(await store.threads.state(thread)));
      await store.threads.patch(thread, { ops: [fact('f2')] });
      await (await store.core.threads()).log.settle();
      writeFileSync(path, '');
      await store.threads.patch(thread, { ops: [fact('f3')] });
    }
    assert.deepEqual([editedCopies(), warnings], [[], []]);
    const edited = `${readFileSync(path, 'utf8').replace('"f3"', '"mine"')}`;
    for (const text of [edited, 'not JSON any more']) {
      warnings.length = 0;
      const before = editedCopies();
      {
        await using store = await openLocal(home, {}, (what) => warnings.push(what));
        writeFileSync(path, text);
        await store.threads.patch(thread, { ops: [fact('next')] });
      }
      const [aside = '', ...more] = editedCopies().filter((name) => !before.includes(name));
      assert.deepEqual(more, []);
      assert.equal(readFileSync(join(folder, aside), 'utf8'), text);
      assert.equal(statSync(join(folder, aside)).mode & 0o777, 0o600);
      assert.equal(warnings.length, 1);
      assert.ok(warnings[0]?.includes(aside));
      await agrees(home, thread);
    }
  });

  it('belong to one tenant each if two tenants have a thread with the same id', async (t) => {
    const { home, thread } = await prepared(t);
    const acme = { ...LOCAL_CALLER, tenant: 'acme' };
    const folder = join(home, 'threads', `acme.${thread}`);
    {
      await using store = await openLocal(home);
      const artifact = await store.threads.putArtifact(thread, { body: text('of both'), name: 'a.txt' });
      const { threads } = store.core.relay(acme, 'http://relay.invalid');
      await threads.import((await store.threads.export(thread)).body);
      assert.equal(
        (await threads.artifact(thread, artifact.ref)).path,
        `threads/acme.${thread}/artifacts/${artifact.ref}.txt`,
      );
      await threads.patch(thread, { ops: [fact('f2')] });
      await store.threads.delete(thread);
      await (await store.core.threads()).log.settle();
      assert.equal(await contentOf(threads, thread, artifact.ref), 'of both');
      assert.equal(readFileSync(join(folder, 'artifacts', `${artifact.ref}.txt`), 'utf8'), 'of both');
    }
    assert.equal(existsSync(join(home, 'threads', thread)), false);
    // Simulates a crash between the commit and the files.
    rmSync(join(folder, 'state.json'));
    writeFileSync(join(home, 'threads', '.stale', `acme.${thread}.999999999.x`), '');
    assert.equal(hasStale(home), true);
    await using store = await openLocal(home);
    await store.core.background.settle();
    await (await store.core.threads()).log.settle();
    assert.equal(hasStale(home), false);
    const { state } = mirrored(home, `acme.${thread}`);
    assert.deepEqual([state.thread_id, state.facts.length], [thread, 2]);
  });

  it('are deleted with the thread', async (t) => {
    const { home, thread } = await prepared(t);
    await using store = await openLocal(home);
    await store.threads.putArtifact(thread, { body: text('x') });
    await store.threads.delete(thread);
    await (await store.core.threads()).log.settle();
    assert.equal(existsSync(join(home, 'threads', thread)), false);
  });
});
