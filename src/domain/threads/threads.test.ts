import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads } from '../../../test/threads/open-threads.ts';
import { isRelayError } from '../../base/errors.ts';
import type { Json } from '../../base/json.ts';
import { applyPatch, type PatchOp } from '../../formats/json-patch/apply.ts';

const fact = (id: string, value: Json = 'v'): PatchOp => ({
  op: 'add',
  path: '/facts/-',
  value: { id, key: `key ${id}`, value },
});

describe('a thread', () => {
  it('begins at version 1 with an empty state', async () => {
    const { api } = openThreads();
    const thread = await api.create({ name: 'first' });
    assert.deepEqual([thread.name, thread.state_ref], ['first', 'v1']);
    const state = await api.state(thread.thread_id);
    assert.deepEqual(
      [state.$schema, state.version, state.thread_id, state.facts, state.metrics.hop_count],
      ['com.relay.state.v1', 1, thread.thread_id, [], 0],
    );
    const info = await api.get(thread.thread_id.toUpperCase());
    assert.deepEqual(
      [info.state_version, info.artifact_count, info.hop_count, info.name],
      [1, 0, 0, 'first'],
    );
  });

  it('is changed by patches, each of which makes a version', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    const answer = await api.patch(thread_id, { ops: [fact('f1'), fact('f2')] });
    assert.equal(answer.version, 2);
    assert.equal(answer.state_ref, 'v2');
    const state = await api.state(thread_id);
    assert.deepEqual(
      state.facts.map(({ id }) => id),
      ['f1', 'f2'],
    );
    assert.equal(state.updated_at, answer.updated_at);
  });

  it('adds author and time to items that lack them', async () => {
    const { as } = openThreads();
    const { thread_id } = await as('ada').create();
    await as('bob').patch(thread_id, {
      ops: [fact('f1'), { op: 'add', path: '/facts/0', value: { id: 'f0', key: 'k', value: 1, by: 'eve' } }],
    });
    const [f0, f1] = (await as('ada').state(thread_id)).facts;
    assert.deepEqual([f0!.by, f1!.by], ['eve', 'bob']);
    assert.match(f1!.at!, /^\d{4}-\d\d-\d\dT/);
  });

  it('is unchanged after a rejected patch', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.patch(thread_id, { ops: [fact('f1')] });
    const before = JSON.stringify(await api.state(thread_id));
    const refused: [Json, string, string?][] = [
      [[fact('f2') as unknown as Json, { op: 'test', path: '/facts/0/id', value: 'x' }], 'patch_test_failed'],
      [[{ op: 'remove', path: '/facts/7' }], 'bad_patch', 'Operation 0 (remove /facts/7)'],
      [
        [{ op: 'replace', path: '/version', value: 9 }],
        'bad_patch',
        '"version" is set by the relay and cannot be patched',
      ],
      [[{ op: 'replace', path: '/thread_id', value: 'x' }], 'bad_patch'],
      [[{ op: 'remove', path: '/$schema' }], 'bad_patch'],
      [[{ op: 'add', path: '/metrics/cache_hits', value: 9 }], 'bad_patch'],
      [[{ op: 'move', from: '/updated_at', path: '/facts/0/at' }], 'bad_patch'],
      [[{ op: 'replace', path: '', value: {} }], 'bad_patch'],
      [[{ op: 'add', path: '/facts/0/__proto__', value: 1 }], 'bad_patch'],
      [
        [{ op: 'add', path: '/facts/-', value: { id: 'f2', key: 'k' } }],
        'state_invalid',
        '/facts/1: needs "value"',
      ],
      [[{ op: 'add', path: '/facts/-', value: 'word' }], 'state_invalid', '/facts/1: must be an object'],
      [[{ op: 'replace', path: '/facts/0/id', value: 3 }], 'state_invalid', '/facts/0/id'],
      [[{ op: 'remove', path: '/facts/0/key' }], 'state_invalid', '/facts/0: needs "key"'],
      [[{ op: 'replace', path: '/facts', value: {} }], 'state_invalid', '/facts: must be a list'],
      [[{ op: 'remove', path: '/plan' }], 'state_invalid', '/plan'],
      [[{ op: 'add', path: '/fact', value: [] }], 'state_invalid', '/fact: is not a field of the state'],
      [[{ op: 'add', path: '/session_summary', value: 1 }], 'state_invalid', '/session_summary'],
      [
        [{ op: 'add', path: '/decisions/-', value: { id: 'd', description: 'x', confidence: 2 } }],
        'state_invalid',
        '/decisions/0/confidence',
      ],
      [[{ op: 'move', from: '/facts/0', path: '/plan/0' }], 'state_invalid', '/plan/0: needs "step"'],
      [{ op: 'add' }, 'bad_request'],
    ];
    for (const [ops, code, says = ''] of refused) {
      await assert.rejects(
        api.patch(thread_id, { ops: ops as unknown as PatchOp[] }),
        (error) => isRelayError(error) && error.code === code && error.message.includes(says),
        JSON.stringify(ops),
      );
    }
    assert.equal(JSON.stringify(await api.state(thread_id)), before);
  });

  it('allows an item that is invalid only between two operations of a patch', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.patch(thread_id, {
      ops: [
        { op: 'add', path: '/facts/-', value: { id: 'f1' } },
        { op: 'add', path: '/facts/-', value: 'nonsense' },
        { op: 'remove', path: '/facts/1' },
        { op: 'add', path: '/facts/0/key', value: 'k' },
        { op: 'add', path: '/facts/0/value', value: 1 },
      ],
    });
    assert.equal((await api.state(thread_id)).facts.length, 1);
  });

  it('rejects a stale If-Match and reports the current version', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.patch(thread_id, { ops: [fact('f1')], if_match: 'v1' });
    for (const if_match of ['v1', '"v1"', 1, 'v9']) {
      await assert.rejects(
        api.patch(thread_id, { ops: [fact('f2')], if_match }),
        (error) => isRelayError(error, 'version_conflict') && error.message.includes('v2'),
      );
    }
    assert.equal((await api.patch(thread_id, { ops: [fact('f2')], if_match: 'W/"v2"' })).version, 3);
  });

  it('applies a repeated patch once, even if it would fail the second time', async () => {
    const opened = openThreads();
    const { thread_id } = await opened.api.create();
    const ops: PatchOp[] = [{ op: 'test', path: '/facts', value: [] }, fact('f1')];
    const first = await opened.api.patch(thread_id, { ops, idempotency_key: 'k1' });
    assert.deepEqual(await opened.again().api.patch(thread_id, { ops, idempotency_key: 'k1' }), first);
    assert.equal((await opened.api.state(thread_id)).facts.length, 1);
    await assert.rejects(opened.api.patch(thread_id, { ops: [fact('f2')], idempotency_key: 'k1' }), (error) =>
      isRelayError(error, 'idempotency_conflict'),
    );
  });

  it('applies all concurrent patches of several processes, without a gap in versions', async () => {
    const opened = openThreads();
    const { thread_id } = await opened.api.create();
    const writers = [opened, opened.again(), opened.again(), opened.again()];
    const versions = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const { api } = writers[i % writers.length]!;
        return (await api.patch(thread_id, { ops: [fact(`f${i}`)] })).version;
      }),
    );
    assert.deepEqual(
      versions.toSorted((a, b) => a - b),
      Array.from({ length: 40 }, (_, i) => i + 2),
    );
    for (const { api } of writers) assert.equal((await api.state(thread_id)).facts.length, 40);
  });

  it('can be read at any version, and any two can be compared', async () => {
    const opened = openThreads();
    const { api } = opened;
    const { thread_id } = await api.create();
    const seen = [JSON.stringify(await api.state(thread_id))];
    for (let i = 0; i < 30; i++) {
      const ops: PatchOp[] =
        i % 5 === 4 ? [{ op: 'remove', path: '/facts/0' }] : [fact(`f${i}`, 'x'.repeat(40_000))];
      await api.patch(thread_id, { ops });
      seen.push(JSON.stringify(await api.state(thread_id)));
    }
    await opened.core.log.settle();
    const other = opened.again().api;
    for (const [i, state] of seen.entries()) {
      assert.equal(JSON.stringify(await other.state(thread_id, { at: `v${i + 1}` })), state);
    }
    for (const [from, to] of [
      [3, 20],
      [20, 3],
      [1, 31],
      [7, 7],
    ] as const) {
      const { ops } = await other.diff(thread_id, { from, to: `v${to}` });
      const patched = applyPatch((await other.state(thread_id, { at: from })) as unknown as Json, ops)
        .doc as {
        facts: Json;
      };
      assert.deepEqual(patched.facts, (await other.state(thread_id, { at: to })).facts);
    }
    for (const at of ['v0', 'v32', 'v99999']) {
      await assert.rejects(other.state(thread_id, { at }), (error) => isRelayError(error, 'not_found'));
    }
    await assert.rejects(other.state(thread_id, { at: 'seven' }), (error) =>
      isRelayError(error, 'bad_request'),
    );
    const { marks } = { marks: await opened.engine.records.get(`thr.${thread_id}/snapshots`) };
    assert.ok(Array.isArray(marks?.value) && marks.value.length > 0, 'there were snapshots to begin from');
    assert.equal((await other.replay(thread_id)).matches, true);
  });

  it('is read from its newest snapshot, even if the version is the same as in the one before', async () => {
    const opened = openThreads();
    const { api, engine } = opened;
    const { thread_id } = await api.create();
    for (let i = 0; i < 12; i++) await api.record(thread_id, 'test.noted', { text: 'x'.repeat(10_000) });
    await opened.core.log.settle();
    let read = 0;
    const { logs } = engine;
    const readPage = logs.read.bind(logs);
    logs.read = async (...args) => {
      const page = await readPage(...args);
      read += page.entries.length;
      return page;
    };
    const info = await opened.again().api.get(thread_id);
    assert.deepEqual([info.event_count, info.state_version], [13, 1]);
    assert.ok(read < 6, `${read} of 13 events were read`);
  });

  it('undoes a patch with the reverse difference', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.patch(thread_id, { ops: [fact('f1')] });
    await api.patch(thread_id, {
      ops: [{ op: 'replace', path: '/facts/0/value', value: 'oops' }, fact('f2')],
    });
    const { ops } = await api.diff(thread_id, { from: 'v3', to: 'v2' });
    await api.patch(thread_id, { ops });
    assert.deepEqual((await api.diff(thread_id, { from: 2, to: 4 })).ops, []);
  });

  it('stores operations that are too large for a log entry', async () => {
    const opened = openThreads();
    const { thread_id } = await opened.api.create();
    const long = 'x'.repeat(opened.engine.limits.entryBytes * 2);
    await opened.api.patch(thread_id, { ops: [fact('f1', long)] });
    const other = opened.again().api;
    assert.equal((await other.state(thread_id)).facts[0]!.value, long);
    const { events } = await other.events(thread_id);
    assert.equal(JSON.stringify(events[1]!.payload.ops).includes(long), true);
  });

  it('rejects a state above 1 MiB and says what to prune', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    for (let i = 0; i < 9; i++) await api.patch(thread_id, { ops: [fact(`f${i}`, 'x'.repeat(110_000))] });
    await assert.rejects(
      api.patch(thread_id, { ops: [fact('f9', 'x'.repeat(110_000))] }),
      (error) =>
        isRelayError(error, 'state_too_large') &&
        error.status === 413 &&
        error.hint.includes('/facts (10 items'),
    );
    assert.equal((await api.state(thread_id)).version, 10);
  });

  it('does not exist for other tenants, or after it was deleted', async () => {
    const opened = openThreads();
    const { api, as, engine, core } = opened;
    const { thread_id } = await api.create();
    await api.patch(thread_id, { ops: [fact('f1')] });
    const other = opened.again().api;
    await other.header(thread_id);
    const missing = (error: unknown) => isRelayError(error, 'not_found');
    await assert.rejects(as('eve', 'evil').state(thread_id), missing);
    await assert.rejects(as('eve', 'evil').patch(thread_id, { ops: [fact('x')] }), missing);
    await assert.rejects(api.state('no-such-thread'), missing);
    assert.deepEqual((await as('eve', 'evil').list()).threads, []);
    await api.delete(thread_id);
    for (const reader of [api, other]) {
      await assert.rejects(reader.state(thread_id), missing);
      await assert.rejects(reader.header(thread_id), missing);
      await assert.rejects(reader.patch(thread_id, { ops: [fact('x')] }), missing);
      assert.deepEqual((await reader.list()).threads, []);
    }
    await core.log.settle();
    const left = await engine.usage();
    const { length: marks } = (await engine.records.list('ten.local/thread-figures/')).items;
    const [freed, written] = (await engine.records.list('ten.local/storage/')).items;
    assert.equal(freed!.value, written!.value);
    assert.deepEqual([left.blobs.count, left.records - 2 - marks, left.entries], [0, 0, 0]);
  });

  it('is listed newest first, in pages, and found by the beginning of its id', async () => {
    const { api } = openThreads();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.unshift((await api.create({ name: `n${i}` })).thread_id);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const first = await api.list({ limit: 3 });
    const second = await api.list({ limit: 3, after: first.next });
    assert.deepEqual(
      [...first.threads, ...second.threads].map(({ thread_id }) => thread_id),
      ids,
    );
    const found = await api.list({ prefix: ids[2]!.slice(0, 13) });
    assert.deepEqual(
      found.threads.map(({ name }) => name),
      ['n2'],
    );
  });

  it('finishes a deletion that a crash interrupted', async () => {
    const { api, engine, core } = openThreads();
    const { thread_id } = await api.create();
    await engine.records.delete(`thr.${thread_id}/meta`);
    assert.deepEqual((await api.list()).threads, []);
    await core.log.settle();
    const sums = (await engine.records.list('ten.local/storage/')).items;
    const { length: marks } = (await engine.records.list('ten.local/thread-figures/')).items;
    assert.deepEqual((await engine.usage()).records, sums.length + marks);
  });
});
