import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads, text } from '../../../test/threads/open-threads.ts';
import { readBytes } from '../../base/byte-streams.ts';

const SECRET = 'password: correct horse battery staple\n';

async function leaked() {
  const relay = openThreads();
  const { thread_id } = await relay.api.create();
  const put = (content: string, name: string) =>
    relay.api.putArtifact(thread_id, { body: text(content), name });
  const harmless = await put('nothing to hide\n', 'notes.txt');
  const secret = await put(SECRET, 'config.txt');
  return { ...relay, thread_id, harmless, secret };
}

/** Returns everything that the store has of a thread, as text. */
async function everything({ engine }: Awaited<ReturnType<typeof leaked>>, id: string): Promise<string> {
  const records = (await engine.records.list(`thr.${id}/`)).items;
  const blobs = await Promise.all(
    (await engine.blobs.list(`thr.${id}/`)).items.map(async ({ key }) =>
      new TextDecoder().decode(await readBytes((await engine.blobs.get(key))!.body)),
    ),
  );
  const { entries } = await engine.logs.read(`thr.${id}`, {});
  return JSON.stringify([records, blobs, entries]);
}

describe('a deleted artifact', () => {
  it('loses its content and preview, and keeps its hash and an event', async () => {
    const relay = await leaked();
    const { api, thread_id, secret } = relay;
    const gone = await api.deleteArtifact(thread_id, secret.ref);
    assert.deepEqual([gone.ref, gone.hash, gone.preview.text], [secret.ref, secret.hash, '']);
    assert.ok(gone.deleted_at);
    assert.ok(!(await everything(relay, thread_id)).includes('horse'));
    assert.deepEqual(await api.artifact(thread_id, secret.ref), gone);
    const { events } = await api.events(thread_id);
    const { type, payload } = events.at(-1)!;
    assert.equal(type, 'artifact.deleted');
    assert.deepEqual([payload.ref, payload.hash, payload.size], [secret.ref, secret.hash, secret.size]);
  });

  it('is no longer read, listed or found, while other artifacts are', async () => {
    const { api, thread_id, secret, harmless } = await leaked();
    await api.deleteArtifact(thread_id, secret.ref);
    await assert.rejects(api.content(thread_id, secret.ref), { code: 'artifact_deleted', status: 410 });
    const { artifacts } = await api.artifacts(thread_id);
    assert.deepEqual(
      artifacts.map(({ ref }) => ref),
      [harmless.ref],
    );
    assert.deepEqual((await api.search(thread_id, 'horse')).hits, []);
    assert.equal((await api.search(thread_id, 'hide')).hits.length, 1);
    const { messages } = await api.render(thread_id);
    assert.ok(!JSON.stringify(messages).includes('horse'));
    assert.equal((await api.replay(thread_id)).matches, true);
  });

  it('can be deleted again without effect', async () => {
    const { api, thread_id, secret } = await leaked();
    const gone = await api.deleteArtifact(thread_id, secret.ref);
    assert.deepEqual(await api.deleteArtifact(thread_id, secret.ref), gone);
    const { events } = await api.events(thread_id);
    assert.equal(events.filter(({ type }) => type === 'artifact.deleted').length, 1);
  });

  it('is not in a bundle, and stays deleted after an import', async () => {
    const { api, thread_id, secret, harmless } = await leaked();
    await api.deleteArtifact(thread_id, secret.ref);
    const bundle = await readBytes((await api.export(thread_id)).body);
    const other = openThreads().api;
    await other.import(bundle);
    await assert.rejects(other.content(thread_id, secret.ref), { code: 'artifact_deleted' });
    assert.equal((await other.artifact(thread_id, secret.ref)).hash, secret.hash);
    assert.equal((await other.artifacts(thread_id)).artifacts[0]!.ref, harmless.ref);
  });

  it('must exist and belong to the same tenant', async () => {
    const { api, thread_id, secret, as } = await leaked();
    await assert.rejects(api.deleteArtifact(thread_id, '0'.repeat(26)), { code: 'not_found' });
    await assert.rejects(as('eve', 'umbrella').deleteArtifact(thread_id, secret.ref), { code: 'not_found' });
    assert.equal((await api.artifact(thread_id, secret.ref)).deleted_at, undefined);
  });
});
