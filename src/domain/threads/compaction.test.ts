import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openThreads } from '../../../test/threads/open-threads.ts';
import { AUTO_COMPACT_ACTIONS } from '../../base/limits.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';

const ref = (i: number) => i.toString(16).padStart(26, '0');
const action = (description: string, result_ref?: string): PatchOp => ({
  op: 'add',
  path: '/last_actions/-',
  value: { description, at: '2026-02-03T04:05:06Z', ...(result_ref ? { result_ref } : {}) },
});
const link = (i: number): PatchOp => ({
  op: 'add',
  path: '/artifacts/-',
  value: { ref: ref(i), name: `n${i}` },
});

describe('compaction', () => {
  it('keeps the newest actions and references, and everything the state still mentions', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    const ops: PatchOp[] = [{ op: 'add', path: '/session_summary', value: 'Written by hand.' }];
    for (let i = 0; i < 300; i++) ops.push(link(i));
    for (let i = 0; i < 80; i++) ops.push(action(`step ${i}`, i === 79 ? ref(5) : undefined));
    ops.push({
      op: 'add',
      path: '/decisions/-',
      value: { id: 'd', description: 'd', evidence_refs: [ref(1)] },
    });
    ops.push({
      op: 'add',
      path: '/facts/-',
      value: { id: 'f', key: 'k', value: { see: `as in ${ref(2)}.` } },
    });
    await api.patch(thread_id, { ops });
    const done = await api.compact(thread_id);
    assert.deepEqual([done.version, done.dropped], [3, { actions: 30, artifacts: 97 }]);
    const state = await api.state(thread_id);
    assert.deepEqual(
      state.artifacts.map((one) => one.ref),
      [1, 2, 5, ...Array.from({ length: 200 }, (_, i) => i + 100)].map(ref),
    );
    assert.deepEqual(
      state.last_actions.map((one) => one.description),
      Array.from({ length: 50 }, (_, i) => `step ${i + 30}`),
    );
    const refs = new Set(state.artifacts.map((one) => one.ref));
    for (const [used] of JSON.stringify([state.facts, state.decisions, state.last_actions]).matchAll(
      /[0-9a-f]{26}/g,
    )) {
      assert.ok(refs.has(used), used);
    }
    const [own, line] = state.session_summary!.split('\n');
    assert.equal(own, 'Written by hand.');
    assert.match(line!, /^Compacted after v2: 30 actions on 2026-02-03: step 0, .*; 97 artifact references/);
    const { events } = await api.events(thread_id);
    assert.equal(events.at(-1)!.type, 'checkpoint.created');
    assert.equal((await api.replay(thread_id)).matches, true);
    assert.equal((await api.state(thread_id, { at: 2 })).last_actions.length, 80);
  });

  it('merges repeated actions', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    const ops = ['a', 'a', 'a', 'b', 'a', 'a'].map((name) => action(name));
    await api.patch(thread_id, { ops });
    await api.compact(thread_id);
    const names = async () => (await api.state(thread_id)).last_actions.map((one) => one.description);
    assert.deepEqual(await names(), ['a (×3)', 'b', 'a (×2)']);
    await api.patch(thread_id, { ops: [action('a'), action('a')] });
    await api.compact(thread_id);
    assert.deepEqual(await names(), ['a (×3)', 'b', 'a (×4)']);
  });

  it('makes no version if nothing would change', async () => {
    const { api } = openThreads();
    const { thread_id } = await api.create();
    await api.patch(thread_id, { ops: [action('x')] });
    assert.deepEqual(await api.compact(thread_id), {
      version: 2,
      state_ref: 'v2',
      dropped: { actions: 0, artifacts: 0 },
    });
  });

  it('runs automatically when a state grows long', async () => {
    const { api, core } = openThreads();
    const { thread_id } = await api.create();
    const ops = Array.from({ length: AUTO_COMPACT_ACTIONS + 10 }, (_, i) => action(`step ${i}`));
    await api.patch(thread_id, { ops });
    for (let i = 0; i < 60; i++) await api.record(thread_id, 'test.step', {});
    await core.log.settle();
    assert.equal((await api.state(thread_id)).last_actions.length, 50);
  });
});
