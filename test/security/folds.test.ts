import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { TextWorkers } from '../../src/app/store/text-workers.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { callerNamed } from '../channels/core.ts';
import { startGuarded } from '../keys/guarded-relay.ts';

let home: string;
before(() => {
  home = mkdtempSync(join(tmpdir(), 'relay-folds-'));
});
after(() => rmSync(home, { recursive: true, force: true }));

const FACTS = 4_900;

/** A thread within all limits. Computing its state from its log is slow. */
async function costlyThread(threads: ThreadsApi): Promise<string> {
  const { thread_id } = await threads.create();
  const value = Array.from({ length: FACTS }, (_, i) => ({ id: `f${i}`, key: 'k', value: i }));
  await threads.patch(thread_id, { ops: [{ op: 'replace', path: '/facts', value }] });
  for (let round = 0; round < 20; round++) {
    const ops = Array.from({ length: 2_000 }, (_, i) => ({
      op: 'move' as const,
      from: `/facts/${(i * 7 + round) % FACTS}`,
      path: `/facts/${(i * 13 + round) % FACTS}`,
    }));
    await threads.patch(thread_id, { ops });
  }
  return thread_id;
}

test('a share link of an expensive thread cannot block the server', async () => {
  await using texts = new TextWorkers();
  await using relay = await startGuarded({
    open: () => openSqlite({ home: join(home, 'a'), role: 'server' }),
    core: { defaultPlan: 'team' },
    texts,
  });
  const ownerRelay = relay.core.relay(callerNamed('owner', 'acme'), relay.url);
  const id = await costlyThread(ownerRelay.threads);
  const { token } = await ownerRelay.shares.create({ thread_id: id });
  const { key } = await relay.key({ tenant: 'other' });
  const shared = { headers: { Authorization: `Bearer ${token}` } };
  const requests = ['state/blame', 'state/diff?from=v1', 'state?at=v12', 'state/blame?at=v21'].map((what) =>
    fetch(`${relay.url}/threads/${id}/${what}`, shared),
  );
  let done = 0;
  for (const one of requests) void one.then(() => done++);
  let meanwhile = 0;
  let busy = 0;
  while (done < requests.length) {
    assert.equal((await relay.ask('GET', '/channels', { key })).status, 200);
    meanwhile++;
    if (texts.jobs.running > 0) busy++;
  }
  const statuses = await Promise.all(requests.map(async (one) => (await one).status));
  assert.deepEqual(statuses, [200, 200, 200, 200]);
  assert.ok(
    busy >= requests.length,
    `${busy} of ${meanwhile} requests were answered beside a fold in a thread`,
  );
});

test('an import is folded in a worker thread, and one that is too expensive is refused and leaves nothing', async () => {
  await using texts = new TextWorkers();
  await using from = await startGuarded({ core: { defaultPlan: 'team' }, texts });
  const id = await costlyThread(from.core.relay(callerNamed('owner', 'acme'), from.url).threads);
  const key = await from.key();
  const headers = { Authorization: `Bearer ${key.key}` };
  const bundle = await (await fetch(`${from.url}/threads/${id}/export`, { headers })).bytes();
  await using hasty = new TextWorkers({ timeMs: 1 });
  for (const [pool, status] of [
    [hasty, 422],
    [texts, 201],
  ] as const) {
    await using to = await startGuarded({ core: { defaultPlan: 'team' }, texts: pool });
    const answer = await to.ask('POST', '/threads/import', { key: await to.key(), body: bundle });
    assert.equal(answer.status, status, answer.text);
    const listed = await to.ask('GET', '/threads', { key: await to.key() });
    assert.equal(listed.json.threads.length, status === 201 ? 1 : 0);
  }
});
