import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import type { State } from '../../src/contract/threads.ts';
import type { PatchOp } from '../../src/formats/json-patch/apply.ts';
import { httpRelay } from '../../src/sdk/http-relay.ts';
import { startRelay } from '../http/relay-under-test.ts';
import { openThreads, text } from './open-threads.ts';

const fact = (id: string): PatchOp => ({ op: 'add', path: '/facts/-', value: { id, key: id, value: id } });

/** Returns a state without the fields that the relay sets itself. */
function withoutOwnFields({ version: _, updated_at: __, metrics: ___, ...rest }: State) {
  return rest;
}

test('a revert makes a version equal to the old one, and keeps the versions between', async () => {
  const { api } = openThreads();
  const { thread_id } = await api.create();
  await api.patch(thread_id, { ops: [fact('a')] });
  const { ref } = await api.putArtifact(thread_id, { body: text('kept'), name: 'kept.txt' });
  await api.patch(thread_id, {
    ops: [fact('b'), { op: 'replace', path: '/facts/0/value', value: 'changed' }],
  });
  const old = await api.state(thread_id, { at: 2 });
  const between = await api.state(thread_id);
  const answer = await api.revert(thread_id, { to: 'v2' });
  assert.equal(answer.version, between.version + 1);
  assert.deepEqual(withoutOwnFields(await api.state(thread_id)), withoutOwnFields(old));
  assert.deepEqual(await api.state(thread_id, { at: between.version }), between);
  assert.equal((await api.artifact(thread_id, ref)).name, 'kept.txt', 'what was stored stays stored');
  assert.ok((await api.replay(thread_id)).matches);
  const { events } = await api.events(thread_id);
  assert.deepEqual(events.at(-1)!.payload.reverted_to, 'v2');
  const again = await api.revert(thread_id, { to: between.version });
  assert.deepEqual(
    withoutOwnFields(await api.state(thread_id)),
    withoutOwnFields(between),
    'and forward again',
  );
  const same = await api.revert(thread_id, { to: again.version });
  assert.equal(same.version, again.version, 'to where it is already changes nothing');
});

test('a revert works even if the difference is too long for a patch', async () => {
  const { api } = openThreads();
  const { thread_id } = await api.create();
  for (const round of [0, 1]) {
    const ops = Array.from({ length: 3_000 }, (_, i) => fact(`f${round}-${i}`));
    await api.patch(thread_id, { ops });
  }
  await api.revert(thread_id, { to: 'v1' });
  assert.deepEqual((await api.state(thread_id)).facts, []);
  await api.revert(thread_id, { to: 'v3' });
  assert.equal((await api.state(thread_id)).facts.length, 6_000);
  assert.ok((await api.replay(thread_id)).matches);
});

test('a revert that is not possible is rejected and changes nothing', async () => {
  const { api } = openThreads();
  const { thread_id } = await api.create();
  await api.patch(thread_id, { ops: [fact('a')] });
  const refused = async (input: Parameters<typeof api.revert>[1], code: string) =>
    assert.rejects(api.revert(thread_id, input), (error) => isRelayError(error) && error.code === code);
  await refused({ to: 'v3' }, 'not_found');
  await refused({ to: 0 }, 'not_found');
  await refused({ to: 'yesterday' }, 'bad_request');
  await refused({ to: 'v1', if_match: 'v1' }, 'version_conflict');
  assert.equal((await api.get(thread_id)).state_version, 2);
});

test('concurrent and repeated reverts make one version each', async () => {
  await using server = await startRelay();
  const { threads } = httpRelay({ baseUrl: server.url });
  const { thread_id } = await threads.create();
  await threads.patch(thread_id, { ops: [fact('a')] });
  const key = { to: 'v1', idempotency_key: 'once' };
  const [one, other] = [
    await threads.revert(thread_id, key),
    await threads.revert(thread_id, { ...key, to: 1 }),
  ];
  assert.deepEqual(one, other);
  await Promise.all(['v1', 'v2', 'v1', 'v2'].map((to) => threads.revert(thread_id, { to })));
  assert.ok((await threads.replay(thread_id)).matches);
});
