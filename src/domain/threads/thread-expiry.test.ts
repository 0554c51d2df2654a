import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads, stoppedClock, text } from '../../../test/threads/open-threads.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import { searchArtifacts } from './artifact-search.ts';
import { removeExpiredThreads, threadEnds } from './thread-removal.ts';

describe('a thread with an expiry', () => {
  it('exists until it expires, and is then as if it never existed', async () => {
    const env = stoppedClock();
    const { api } = openThreads({ env });
    const thread = await api.create({ name: 'short', ttl: 60 });
    assert.equal(thread.expires_at, new Date(env.now() + 60_000).toISOString());
    assert.equal((await api.get(thread.thread_id)).expires_at, thread.expires_at);
    const stays = await api.create({ name: 'long' });
    assert.equal(stays.expires_at, undefined);
    env.advance(59_999);
    await api.putArtifact(thread.thread_id, { body: text('still here'), name: 'a.txt' });
    assert.equal((await api.list()).threads.length, 2);
    env.advance(1);
    await assert.rejects(api.state(thread.thread_id), { code: 'not_found' });
    await assert.rejects(api.record(thread.thread_id, 'mine.note'), { code: 'not_found' });
    assert.deepEqual(
      (await api.list()).threads.map(({ name }) => name),
      ['long'],
    );
  });

  it('is not found by a search over all threads either', async () => {
    const env = stoppedClock();
    const { api, core } = openThreads({ env });
    for (const ttl of [60, undefined]) {
      const { thread_id } = await api.create({ ttl });
      await api.putArtifact(thread_id, { body: text('words'), name: 'a.txt' });
    }
    const found = () => searchArtifacts(core.log, LOCAL_CALLER, null, 'words');
    assert.equal((await found()).length, 2);
    env.advance(61_000);
    assert.equal((await found()).length, 1);
  });

  it('leaves no data after the sweep, and no other thread is affected', async () => {
    const env = stoppedClock();
    const { api, core, engine } = openThreads({ env });
    const { thread_id: id } = await api.create({ ttl: 60 });
    const { ref } = await api.putArtifact(id, { body: text('words'), name: 'a.txt' });
    const later = await api.create({ ttl: 3600 });
    assert.equal(await threadEnds(core.log.deps).hasDue(), false);
    env.advance(61_000);
    assert.equal(await threadEnds(core.log.deps).hasDue(), true);
    await removeExpiredThreads(core.log);
    assert.equal(await threadEnds(core.log.deps).hasDue(), false);
    assert.deepEqual((await engine.blobs.list(`thr.${id}/`)).items, []);
    assert.deepEqual((await engine.records.list(`thr.${id}/`)).items, []);
    assert.equal((await engine.logs.info(`thr.${id}`)).count, 0);
    assert.deepEqual((await engine.index.search('ten.local/artifacts/', 'words')).length, 0, ref);
    assert.equal((await api.get(later.thread_id)).state_version, 1);
  });

  it('stays if it was deleted before it expired and imported again without an expiry', async () => {
    const env = stoppedClock();
    const { api, core } = openThreads({ env });
    const { thread_id: id } = await api.create({ ttl: 60 });
    const bundle = new Uint8Array(await new Response((await api.export(id)).body as BodyInit).arrayBuffer());
    await api.delete(id);
    await api.import(bundle);
    env.advance(61_000);
    await removeExpiredThreads(core.log);
    assert.equal((await api.get(id)).state_version, 1);
  });

  it('lives at least one second and at most ten years', async () => {
    const { api } = openThreads();
    for (const ttl of [0, -1, 0.5, 1e12, Number.NaN, 'soon' as never])
      await assert.rejects(api.create({ ttl }), { code: 'bad_request' }, String(ttl));
  });
});
