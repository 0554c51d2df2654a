import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { startRelay } from '../http/relay-under-test.ts';

const fact = (id: string) => ({ op: 'add' as const, path: '/facts/-', value: { id, key: 'k', value: 'v' } });

describe('threads over HTTP', () => {
  it('have the same type as local ones, and the SDK supports everything', async () => {
    await using relay = await startRelay();
    const remote = httpRelay({ baseUrl: relay.url });
    const { threads, capabilities } = remote;
    const { thread_id: id } = await threads.create({ name: 'over the wire' });
    const stop = new AbortController();
    const watched: string[] = [];
    const watching = (async () => {
      for await (const event of threads.watch(id, { signal: stop.signal })) {
        watched.push(event.type);
        if (event.type === 'test.done') break;
      }
    })();
    await threads.patch(id, { ops: [fact('f1')], if_match: 'v1' });
    const createdArtifact = await threads.putArtifact(id, {
      body: Buffer.from('the words'),
      name: 'w.txt',
      source_refs: ['x', 'y'],
    });
    assert.deepEqual(createdArtifact.provenance.source_refs, ['x', 'y']);
    const streamed = await threads.putArtifact(id, { body: new Blob(['streamed']).stream(), name: 's.txt' });
    const { artifact, body } = await threads.content(id, createdArtifact.ref, {
      range: { start: 4, end: 9 },
    });
    assert.equal(await new Response(body as BodyInit).text(), 'words');
    assert.equal(artifact.ref, createdArtifact.ref);
    assert.equal((await threads.search(id, 'words')).hits[0]?.ref, createdArtifact.ref);
    assert.equal((await threads.artifacts(id, { limit: 1 })).artifacts[0]?.ref, streamed.ref);
    assert.equal((await threads.diff(id, { from: 1, to: 2 })).ops.length, 1);
    assert.equal((await threads.state(id, { at: 2 })).version, 2);
    assert.equal((await threads.header(id)).version, 4);
    assert.equal((await threads.replay(id)).matches, true);
    assert.equal((await threads.compact(id)).version, 4);
    await threads.send(id, { to_capability: 'x', payload: { a: 1 } });
    assert.equal((await threads.envelopes(id, { to: 'x' })).envelopes.length, 1);
    assert.equal((await capabilities.list()).capabilities[0]?.name, 'retrieval.search');
    const invoked = await capabilities.invoke({
      capability: 'retrieval.search',
      thread_id: id,
      args: { query: 'words' },
    });
    assert.equal(invoked.cache_hit, false);
    assert.equal((await threads.stats(id)).artifacts, 3);
    assert.ok((await threads.totals()).threads >= 1);
    assert.equal((await threads.report(id, { format: 'json' })).format, 'json');
    assert.equal((await threads.render(id, { format: 'anthropic' })).messages.length, 1);
    await threads.record(id, 'test.done', { n: 1 });
    await watching;
    stop.abort();
    assert.deepEqual(watched.slice(0, 3), ['thread.created', 'state.patch.applied', 'artifact.created']);
    const before = await threads.state(id);
    const { body: bundle } = await threads.export(id);
    const bytes = new Uint8Array(
      await new Response(bundle as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer(),
    );
    await threads.delete(id);
    assert.equal((await threads.import(bytes)).thread_id, id);
    assert.deepEqual(await threads.state(id), before);
    await relay.engine.blobs.delete(`thr.${id}/artifacts/${createdArtifact.ref}.bin`);
    const { body: rest, damaged } = await threads.export(id);
    await (rest as ReadableStream).cancel();
    assert.deepEqual(damaged, [createdArtifact.ref]);
    await assert.rejects(threads.get('550e8400-e29b-41d4-a716-446655440000'), { code: 'not_found' });
    assert.ok((await threads.list({ prefix: id.slice(0, 8) })).threads.some((one) => one.thread_id === id));
  });

  it('are objects in a client', async () => {
    await using relay = await startRelay();
    const client = new ContextRelay({ baseUrl: relay.url });
    const thread = await client.threads.create({ name: 'mine' });
    assert.equal((await thread.info()).name, 'mine');
    const short = await client.threads.create({ ttl: 60 });
    assert.ok((await short.info()).expires_at);
    relay.advance(61_000);
    await assert.rejects(short.info(), { code: 'not_found' });
    await relay.core.sweepStore();
    assert.equal((await relay.engine.logs.info(`thr.${short.id}`)).count, 0);
    assert.equal((await thread.patch([fact('f1')], { ifMatch: 'v1' })).version, 2);
    await assert.rejects(thread.patch([fact('f2')], { ifMatch: 'v1' }), { code: 'version_conflict' });
    assert.equal((await thread.header()).top_facts[0]?.id, 'f1');
    assert.equal((await thread.diff('v1', 'v2')).ops.length, 1);
    assert.equal((await thread.state({ at: 'v1' })).facts.length, 0);
    const artifact = await thread.artifacts.put('# Some words\n', { name: 'a.md', sourceRefs: ['s'] });
    const content = await thread.artifacts.get(artifact.ref);
    assert.deepEqual([content.meta.type, await content.text()], ['markdown', '# Some words\n']);
    assert.equal((await thread.artifacts.search('words'))[0]?.ref, artifact.ref);
    assert.equal((await thread.artifacts.put(new Blob(['x'], { type: 'text/html' }))).type, 'html');
    assert.equal((await thread.artifacts.list()).artifacts.length, 2);
    const leaked = await thread.artifacts.put('a secret');
    assert.equal((await thread.artifacts.delete(leaked.ref)).hash, leaked.hash);
    await assert.rejects((await thread.artifacts.get(leaked.ref)).text(), { code: 'artifact_deleted' });
    assert.equal((await thread.artifacts.list()).artifacts.length, 2);
    const types: string[] = [];
    for await (const event of thread.events({ after: '1' })) types.push(event.type);
    assert.deepEqual(types.slice(0, 2), ['state.patch.applied', 'artifact.created']);
    const { cache_hit } = await thread.invoke('retrieval.search', { query: 'words' });
    assert.equal(cache_hit, false);
    assert.equal((await thread.render('anthropic')).format, 'anthropic');
    await thread.revert('v1', { idempotencyKey: 'back' });
    assert.deepEqual((await thread.state()).facts, []);
    const bundle = new Uint8Array(await new Response((await thread.export()) as BodyInit).arrayBuffer());
    await (await client.threads.get(thread.id)).delete();
    assert.equal((await client.threads.import(bundle)).thread_id, thread.id);
    await assert.rejects(client.threads.get('550e8400-e29b-41d4-a716-446655440000'), { code: 'not_found' });
  });
});
