import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { caller, openThreads, stoppedClock, text } from '../../../../test/threads/open-threads.ts';
import { isRelayError } from '../../../base/errors.ts';
import { readText } from '../../../base/utf8.ts';
import { type Caller, LOCAL_CALLER } from '../../../contract/caller.ts';
import type { Capability } from './capability.ts';

function counting(o: Partial<Capability> = {}): Capability & { runs: number } {
  const capability = {
    runs: 0,
    name: 'test.echo',
    description: 'says it again',
    args_schema: {
      type: 'object',
      required: ['say'],
      properties: { say: { type: 'string' } },
      additionalProperties: false,
    },
    cacheable: true,
    cache_ttl_sec: 60,
    async run(args: { say?: unknown }) {
      capability.runs++;
      return { content: `${args.say} ${capability.runs}`, name: 'echo.txt' };
    },
    ...o,
  };
  return capability as Capability & { runs: number };
}

describe('a capability', () => {
  const ada = caller('ada');

  it('is listed with its schema', async () => {
    const { capabilities } = openThreads({ capabilities: [counting()] });
    assert.deepEqual(
      (await capabilities.list()).capabilities.map(({ name, cacheable, cache_ttl_sec, enabled }) => [
        name,
        cacheable,
        cache_ttl_sec,
        enabled ?? true,
      ]),
      [
        ['retrieval.search', true, 300, true],
        ['http.fetch', true, 300, false],
        ['test.echo', true, 60, true],
      ],
    );
  });

  it('runs once and is then answered from the cache until it expires', async () => {
    const env = stoppedClock();
    const echo = counting();
    const { capabilities, as } = openThreads({ env, capabilities: [echo] });
    const { thread_id } = await as('ada').create();
    const invoke = (args = { say: 'hi' }) =>
      capabilities.invoke(ada, { capability: 'test.echo', thread_id, args });
    const first = await invoke();
    assert.deepEqual([first.cache_hit, first.preview.text], [false, 'hi 1']);
    assert.match(first.cache_key, /^[0-9a-f]{64}$/);
    const second = await invoke();
    assert.deepEqual([second.cache_hit, second.artifact_ref], [true, first.artifact_ref]);
    assert.equal((await invoke({ say: 'ho' })).cache_hit, false);
    env.advance(61_000);
    assert.equal((await invoke()).cache_hit, false);
    assert.equal(echo.runs, 3);
    const stats = await as('ada').stats(thread_id);
    assert.equal(stats.cache_hits, 1);
    await as('ada').patch(thread_id, { ops: [{ op: 'add', path: '/session_summary', value: 's' }] });
    const { metrics } = await as('ada').state(thread_id);
    assert.deepEqual([metrics.cache_hits, metrics.cache_misses], [1, 3]);
    const artifact = await as('ada').artifact(thread_id, first.artifact_ref);
    assert.deepEqual([artifact.provenance.capability, artifact.type], ['test.echo', 'tool_output']);
  });

  it('uses the cache for any order of arguments, and copies the result to another thread', async () => {
    const echo = counting({ args_schema: { type: 'object' } });
    const { capabilities, as } = openThreads({ capabilities: [echo] });
    const one = await as('ada').create();
    const two = await as('ada').create();
    const run = (thread_id: string, args: object, who = ada) =>
      capabilities.invoke(who, { capability: 'test.echo', thread_id, args: args as never });
    const first = await run(one.thread_id, { say: 'x', b: { c: 1, d: 2 } });
    const second = await run(two.thread_id, { b: { d: 2, c: 1 }, say: 'x' });
    assert.equal(second.cache_hit, true);
    assert.notEqual(second.artifact_ref, first.artifact_ref);
    const { body } = await as('ada').content(two.thread_id, second.artifact_ref);
    assert.equal(await readText(body), 'x 1');
    const eve = caller('eve', 'evil');
    const theirs = await as('eve', 'evil').create();
    assert.equal((await run(theirs.thread_id, { say: 'x', b: { c: 1, d: 2 } }, eve)).cache_hit, false);
    await as('ada').delete(one.thread_id);
    const third = await as('ada').create();
    assert.equal((await run(third.thread_id, { say: 'x', b: { c: 1, d: 2 } })).cache_hit, false);
  });

  it('runs once for concurrent calls and for repeated idempotency keys', async () => {
    const echo = counting();
    const { capabilities, as } = openThreads({ capabilities: [echo] });
    const { thread_id } = await as('ada').create();
    const call = { capability: 'test.echo', thread_id, args: { say: 'x' } };
    const both = await Promise.all([capabilities.invoke(ada, call), capabilities.invoke(ada, call)]);
    assert.equal(both[0].artifact_ref, both[1].artifact_ref);
    assert.equal(echo.runs, 1);
    const uncached = counting({ cacheable: false });
    const other = openThreads({ capabilities: [uncached] });
    const thread = await other.as('ada').create();
    const keyed = {
      capability: 'test.echo',
      thread_id: thread.thread_id,
      args: { say: 'x' },
      idempotency_key: 'k',
    };
    const first = await other.capabilities.invoke(ada, keyed);
    assert.equal((await other.capabilities.invoke(ada, keyed)).artifact_ref, first.artifact_ref);
    assert.equal(uncached.runs, 1);
    await assert.rejects(other.capabilities.invoke(ada, { ...keyed, args: { say: 'y' } }), (error) =>
      isRelayError(error, 'idempotency_conflict'),
    );
  });

  it('rejects bad calls with a reason', async () => {
    const failing = counting({
      name: 'test.fail',
      run: async () => {
        throw new Error('no such luck');
      },
    });
    const { capabilities, as } = openThreads({ capabilities: [counting(), failing] });
    const { thread_id } = await as('ada').create();
    const refused: [object, string, RegExp][] = [
      [{ capability: 'test.echo', args: {} }, 'bad_arguments', /"say" is missing/],
      [{ capability: 'test.echo', args: { say: 1 } }, 'bad_arguments', /\/say must be string/],
      [{ capability: 'test.echo', args: { say: 'x'.repeat(20_000) } }, 'too_large', /arguments/],
      [{ capability: 'no.such', args: {} }, 'not_found', /no\.such/],
      [{ capability: 'http.fetch', args: { url: 'http://example.com' } }, 'not_found', /http\.fetch/],
      [{ capability: 'test.fail', args: { say: 'x' } }, 'capability_failed', /no such luck/],
    ];
    for (const [call, code, says] of refused) {
      await assert.rejects(
        capabilities.invoke(ada, { thread_id, ...call } as never),
        (error) => isRelayError(error) && error.code === code && says.test(error.message),
      );
    }
    assert.equal((await as('ada').get(thread_id)).artifact_count, 0);
    for (const wrong of [
      { name: 'Bad Name' },
      { args_schema: { contains: true } },
      { run: undefined },
      { cache_ttl_sec: 0 },
    ]) {
      assert.throws(() => openThreads({ capabilities: [counting(wrong as never)] }), isRelayError);
    }
    assert.throws(() => openThreads({ capabilities: [counting(), counting()] }), /the same name/);
  });

  it('retrieval.search returns ranked passages, from the cache until there is a new artifact', async () => {
    const { capabilities, as } = openThreads();
    const api = as('ada');
    const { thread_id } = await api.create();
    const { ref } = await api.putArtifact(thread_id, {
      body: text('The fox jumps over the dog.'),
      name: 'fox.txt',
    });
    const search = () =>
      capabilities.invoke(ada, { capability: 'retrieval.search', thread_id, args: { query: 'fox' } });
    const first = await search();
    const found = JSON.parse(await readText((await api.content(thread_id, first.artifact_ref)).body));
    assert.deepEqual(
      found.hits.map((hit: { ref: string }) => hit.ref),
      [ref],
    );
    assert.equal((await search()).cache_hit, true);
    await api.putArtifact(thread_id, { body: text('Another fox.'), name: 'fox2.txt' });
    assert.equal((await search()).cache_hit, false);
  });

  it('retrieval.search never returns the cached result of another thread', async () => {
    const { capabilities, as } = openThreads();
    const api = as('ada');
    const found: string[][] = [];
    for (const body of ['The red fox.', 'The blue fox.']) {
      const { thread_id } = await api.create();
      const { ref } = await api.putArtifact(thread_id, { body: text(body), name: 'fox.txt' });
      const call = { capability: 'retrieval.search', thread_id, args: { query: 'fox' } };
      const { artifact_ref, cache_hit } = await capabilities.invoke(ada, call);
      assert.equal(cache_hit, false);
      const { hits } = JSON.parse(await readText((await api.content(thread_id, artifact_ref)).body));
      found.push([ref, ...hits.map((hit: { ref: string }) => hit.ref)]);
    }
    for (const [ref, ...hits] of found) assert.deepEqual(hits, [ref]);
  });
});

it('a search of all threads by a key with a channel prefix is not cached for other keys', async () => {
  const { api, core, capabilities } = openThreads();
  const bound = { ...LOCAL_CALLER, keyId: 'key_bound', channelPrefix: 'team.', base: '' };
  const { thread_id: theirs } = await api.create();
  await api.putArtifact(theirs, { name: 'one', body: text('a needle') });
  const { thread_id } = await core.verbs.create(bound);
  await core.verbs.putArtifact(bound, thread_id, { name: 'two', body: text('a needle') });
  const invoke = (caller: Caller) =>
    capabilities.invoke(caller, {
      capability: 'retrieval.search',
      thread_id,
      args: { query: 'needle', everywhere: true },
    });
  assert.equal((await invoke(bound)).preview.count, 1);
  assert.equal((await invoke(LOCAL_CALLER)).preview.count, 2);
});
