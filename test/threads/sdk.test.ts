import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HttpRelay } from '../../src/sdk/http-relay.ts';
import { startRelay } from '../http/relay-under-test.ts';

const fact = (id: string) => ({ op: 'add' as const, path: '/facts/-', value: { id, key: 'k', value: 'v' } });

describe('threads at the other end of HTTP', () => {
  it('are one type with the local ones: the SDK does all of it', async () => {
    await using relay = await startRelay();
    const remote = new HttpRelay({ baseUrl: relay.url });
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
    const made = await threads.putArtifact(id, {
      body: Buffer.from('the words'),
      name: 'w.txt',
      source_refs: ['x', 'y'],
    });
    assert.deepEqual(made.provenance.source_refs, ['x', 'y']);
    const streamed = await threads.putArtifact(id, { body: new Blob(['streamed']).stream(), name: 's.txt' });
    const { artifact, body } = await threads.content(id, made.ref, { range: { start: 4, end: 9 } });
    assert.equal(await new Response(body as BodyInit).text(), 'words');
    assert.equal(artifact.ref, made.ref);
    assert.equal((await threads.search(id, 'words')).hits[0]?.ref, made.ref);
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
    await assert.rejects(threads.get('550e8400-e29b-41d4-a716-446655440000'), { code: 'not_found' });
    assert.ok((await threads.list({ prefix: id.slice(0, 8) })).threads.some((one) => one.thread_id === id));
  });
});
