import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { readBytes } from '../../src/base/byte-streams.ts';
import { RelayError } from '../../src/base/errors.ts';
import { readText } from '../../src/base/utf8.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { until } from '../until.ts';
import { exported, forged, prepared } from './bundles.ts';
import { type OpenThreads, openThreads, stoppedClock, text } from './open-threads.ts';

const uncounted = { counted: false };

/** Returns all data of a thread that another tenant could damage. */
async function readThread(api: ThreadsApi, id: string) {
  const { artifacts } = await api.artifacts(id, uncounted);
  const contents = [];
  for (const { ref } of artifacts) {
    const { body } = await api.content(id, ref, uncounted);
    contents.push(await readBytes(body));
  }
  return {
    contents,
    refs: artifacts.map(({ ref }) => ref),
    state: await api.state(id, uncounted),
    replay: (await api.replay(id)).matches,
    listed: (await api.list()).threads.map(({ thread_id }) => thread_id),
    found: (await api.search(id, 'words', uncounted)).hits.map(({ ref }) => ref),
  };
}

type Open = (t: TestContext) => Promise<Engine | undefined>;

async function sqlite(t: TestContext): Promise<Engine> {
  const home = mkdtempSync(join(tmpdir(), 'relay-same-id-'));
  const engine = await openSqlite({ home, durability: 'process', role: 'server' });
  t.after(async () => {
    await engine[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true });
  });
  return engine;
}

/** Engines for these tests: memory and SQLite, or only the one that RELAY_TEST_ENGINE names. */
const ENGINES: { readonly [name: string]: Open } = {
  [process.env.RELAY_TEST_ENGINE ? 'the engine under test' : 'memory']: async () => undefined,
  ...(process.env.RELAY_TEST_ENGINE ? {} : { SQLite: sqlite }),
};

interface Imported {
  readonly opened: OpenThreads;
  readonly id: string;
  readonly bundle: Uint8Array;
}

/** Imports a thread for a tenant. */
async function imported(engine: Engine | undefined, tenant: string): Promise<Imported> {
  const { bundle, id } = await prepared();
  const opened = openThreads(engine ? { engine } : {});
  await opened.as('ann', tenant).import(bundle);
  return { opened, id, bundle };
}

/** Creates a thread of acme under the key that older versions used for the threads of all tenants. */
async function inOldPlace(engine: Engine | undefined): Promise<Imported> {
  const importedThread = await imported(engine, 'local');
  const { records } = importedThread.opened.engine;
  const key = `thr.${importedThread.id}/meta`;
  await records.put(key, { ...((await records.get(key))!.value as object), tenant: 'acme' });
  for (const { key: listed, value } of (await records.list('ten.local/threads/')).items) {
    await records.put(listed.replace('ten.local/', 'ten.acme/'), value);
    await records.delete(listed);
  }
  return importedThread;
}

for (const [name, open] of Object.entries(ENGINES)) {
  describe(`two tenants with the same thread id on ${name}`, () => {
    it('import, change and delete it without affecting each other', async (t) => {
      const { opened, id, bundle } = await imported(await open(t), 'acme');
      const [ann, eve, own] = [opened.as('ann', 'acme'), opened.as('eve', 'evil'), opened.api];
      const before = await readThread(ann, id);
      for (const other of [eve, own]) assert.equal((await other.import(bundle)).thread_id, id);
      await eve.patch(id, {
        ops: [{ op: 'add', path: '/facts/-', value: { id: 'x', key: 'x', value: 'x' } }],
      });
      await eve.putArtifact(id, { body: text('of eve'), name: 'eve.md' });
      const [newest] = (await eve.artifacts(id, uncounted)).artifacts;
      assert.deepEqual(await readThread(ann, id), before);
      await assert.rejects(ann.artifact(id, newest!.ref), { code: 'not_found' });
      await eve.delete(id);
      await assert.rejects(eve.get(id), { code: 'not_found' });
      assert.deepEqual(await readThread(ann, id), before);
      assert.deepEqual(await readThread(opened.again().as('ann', 'acme'), id), before);
      assert.equal((await own.get(id)).artifact_count, 2);
      await own.delete(id);
      assert.deepEqual(await readThread(ann, id), before);
    });

    it('are not affected by a failed or repeated import of the other', async (t) => {
      const { opened, id, bundle } = await imported(await open(t), 'acme');
      const [ann, eve] = [opened.as('ann', 'acme'), opened.as('eve', 'evil')];
      const before = await readThread(ann, id);
      const put = opened.engine.blobs.put.bind(opened.engine.blobs);
      opened.engine.blobs.put = (key, ...rest) =>
        key.includes('/artifacts/') ? Promise.reject(new Error('the disk is gone')) : put(key, ...rest);
      await assert.rejects(eve.import(bundle), /the disk is gone/);
      opened.engine.blobs.put = put;
      await assert.rejects(eve.get(id), { code: 'not_found' });
      assert.deepEqual(await readThread(ann, id), before);
      await eve.import(bundle);
      await assert.rejects(eve.import(bundle), { code: 'conflict' });
      await assert.rejects(ann.import(bundle), { code: 'conflict' });
      assert.deepEqual(await readThread(ann, id), before);
      assert.equal((await eve.get(id)).artifact_count, 2);
    });

    it('can import at the same time', async (t) => {
      const { bundle, id } = await prepared();
      const engine = await open(t);
      const opened = openThreads(engine ? { engine } : {});
      const tenants = ['acme', 'evil', 'local'].map((tenant) => opened.as('ann', tenant));
      await Promise.all(tenants.map((api) => api.import(bundle)));
      const all = await Promise.all(tenants.map((api) => readThread(api, id)));
      for (const one of all) {
        assert.deepEqual(one, all[0]);
        assert.deepEqual([one.refs.length, one.replay, one.found.length], [2, true, 1]);
      }
    });

    it('reject an import of an existing thread before its events are read', async (t) => {
      const { opened, id, bundle } = await imported(await open(t), 'acme');
      const broken = await forged(bundle, 'events/000001.ndjson', () => 'no event\n');
      await assert.rejects(opened.as('ann', 'acme').import(broken), { code: 'conflict' });
      await assert.rejects(opened.as('eve', 'evil').import(broken), { code: 'bad_bundle' });
      assert.equal((await opened.as('ann', 'acme').get(id)).artifact_count, 2);
    });
  });

  describe(`a thread stored by an older version on ${name}`, () => {
    it('is read, changed, exported and deleted as before', async (t) => {
      const { opened, id } = await inOldPlace(await open(t));
      const ann = opened.again().as('ann', 'acme');
      assert.deepEqual(
        (await ann.list()).threads.map(({ thread_id }) => thread_id),
        [id],
      );
      const artifact = await ann.putArtifact(id, { body: text('more words'), name: 'more.md' });
      const { body } = await ann.content(id, artifact.ref);
      assert.equal(await readText(body), 'more words');
      assert.equal((await ann.header(id)).thread_id, id);
      assert.equal((await ann.replay(id)).matches, true);
      await assert.rejects(opened.api.get(id), { code: 'not_found' });
      await assert.rejects(opened.as('eve', 'evil').get(id), { code: 'not_found' });
      const bundle = await exported({ ...opened, api: ann }, id);
      await ann.delete(id);
      await assert.rejects(ann.get(id), { code: 'not_found' });
      assert.equal((await opened.engine.logs.info(`thr.${id}`)).count, 0);
      await ann.import(bundle);
      assert.equal((await ann.get(id)).artifact_count, 3);
    });

    it('does not block another tenant’s import, and is not changed by it', async (t) => {
      const { opened, id, bundle } = await inOldPlace(await open(t));
      const [ann, eve, own] = [opened.as('ann', 'acme'), opened.as('eve', 'evil'), opened.api];
      const before = await ann.state(id, uncounted);
      await assert.rejects(ann.import(bundle), { code: 'conflict' });
      for (const other of [eve, own]) {
        await other.import(bundle);
        await other.delete(id);
      }
      assert.deepEqual(await ann.state(id, uncounted), before);
      assert.equal((await ann.get(id)).artifact_count, 2);
      assert.equal((await ann.replay(id)).matches, true);
    });

    it('can be removed after a crash while the relay’s own tenant imports the same id', async (t) => {
      const { opened, id, bundle } = await inOldPlace(await open(t));
      const { records } = opened.engine;
      // Simulates a crash right after the deletion began.
      await records.delete(`thr.${id}/meta`);
      const put = records.put.bind(records);
      const begun = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      records.put = async (key, ...rest) => {
        if (key.endsWith('/meta')) {
          begun.resolve();
          await goOn.promise;
        }
        return put(key, ...rest);
      };
      const importing = opened.api.import(bundle);
      await begun.promise;
      const elsewhere = opened.again();
      assert.deepEqual((await elsewhere.as('ann', 'acme').list()).threads, []);
      await elsewhere.core.log.background.settle();
      goOn.resolve();
      await importing;
      records.put = put;
      const { refs, replay, found } = await readThread(opened.again().api, id);
      assert.deepEqual([refs.length, replay, found.length], [2, true, 1]);
      assert.deepEqual((await elsewhere.as('ann', 'acme').list()).threads, []);
      await elsewhere.core.log.background.settle();
      assert.deepEqual((await readThread(opened.again().api, id)).refs, refs);
    });
  });
}

describe('the lock of an import', () => {
  it('expires soon after a crash, so that the import can be repeated', async () => {
    const env = stoppedClock(Date.now());
    const { bundle } = await prepared();
    const opened = openThreads({ env });
    const { blobs, records } = opened.engine;
    const before = { put: records.put, delete: records.delete, putBlob: blobs.put };
    const failWrite = () => Promise.reject(new Error('the process is gone'));
    // Simulates a crash while the content of an artifact is stored: all later calls to the store fail.
    blobs.put = () => {
      Object.assign(records, { put: failWrite, delete: failWrite });
      return failWrite();
    };
    await assert.rejects(opened.api.import(bundle), /the process is gone/);
    Object.assign(records, { put: before.put, delete: before.delete });
    blobs.put = before.putBlob;
    const next = opened.again();
    await assert.rejects(next.api.import(bundle), { code: 'busy' });
    env.advance(120_000);
    assert.equal((await next.api.import(bundle)).artifacts, 2);
  });

  it('is held as long as the import runs', async (t) => {
    const env = stoppedClock(Date.now());
    t.mock.timers.enable({ apis: ['setInterval'] });
    const { bundle } = await prepared();
    const opened = openThreads({ env });
    const { blobs, records } = opened.engine;
    const [putBlob, put] = [blobs.put.bind(blobs), records.put.bind(records)];
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    blobs.put = async (...rest) => {
      begun.resolve();
      await goOn.promise;
      return putBlob(...rest);
    };
    let turns = 0;
    records.put = async (key, ...rest) => {
      const revision = await put(key, ...rest);
      if (key.endsWith('/turn') && revision !== null) turns++;
      return revision;
    };
    const importing = opened.api.import(bundle);
    await begun.promise;
    for (let step = 0; step < 10; step++) {
      const before = turns;
      env.advance(15_000);
      t.mock.timers.tick(15_000);
      await until(() => turns > before);
    }
    await assert.rejects(opened.again().api.import(bundle), { code: 'busy' });
    goOn.resolve();
    assert.equal((await importing).artifacts, 2);
  });

  it('does not fail an import if the store is too full to release it', async () => {
    const { bundle, id } = await prepared();
    const { engine, api } = openThreads();
    const remove = engine.records.delete.bind(engine.records);
    engine.records.delete = async (key, ...rest) => {
      if (key.endsWith('/turn')) throw new RelayError('store_full', { what: 'the disk is full' });
      return remove(key, ...rest);
    };
    assert.equal((await api.import(bundle)).thread_id, id);
    assert.equal((await api.get(id)).artifact_count, 2);
  });
});
