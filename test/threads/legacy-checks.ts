import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readBytes } from '../../src/base/byte-streams.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';
import { runHere } from '../cli/in-process.ts';
import { LegacyHome, type LegacyTruth } from './legacy-home.ts';

export const [FULL, EMPTY, LATER] = [
  'c754ddba-3648-45f4-abec-8e9863a5bd66',
  'e70f1e4a-cdb5-490e-a2fd-0f651ad0266e',
  '1bb47909-3549-4e11-a213-c97bcf9f42ea',
] as const;
export const fact = (id: string) => ({ id, key: 'k', value: { deep: [id, null] } });

/** Writes a home with every kind of data that a Go relay stores. */
export function buildHome(dir: string) {
  const home = new LegacyHome(dir);
  const thread = home.thread(FULL, '発注 "0" \'x\'', 2);
  const notes = { name: 'ledger-0.md', type: 'markdown', mime: 'text/plain', ext: '.md' };
  const ref = thread.artifact({ ...notes, content: '# ünï 漢字\n'.repeat(300) });
  thread.patch({ facts: [fact('f1')], plan: [{ id: 'p1', step: 's', status: 'pending' }] });
  thread.artifact({ type: 'spreadsheet/csv', mime: 'text/csv', ext: '.bin', content: 'a,b\n1,2\n' });
  thread.patch({ facts: [fact('f1'), fact('f2')], plan: [], artifacts: [{ ref, type: 'markdown' }] });
  const artifact = {
    name: 'search-a',
    type: 'json',
    mime: 'application/json',
    ext: '.json',
    content: '{"a":1}',
  };
  thread.artifact(artifact, 'capability.invoked');
  thread.patch({ constraints: [{ id: 'c', description: 'd', severity: 'hard' }] });
  const report = { name: 'report.md', type: 'markdown', mime: 'text/markdown', ext: '.md', content: '# R\n' };
  thread.artifact(report, 'report.generated');
  thread.event('checkpoint.created', { label: 'here' });
  const empty = home.thread(EMPTY, '');
  home.db.exec("INSERT INTO cache VALUES ('k', 'retrieval.search', 'k', '{}', 'r', 't', 'c', 'e', 0)");
  return { home, thread, empty };
}

/** Asserts that an imported thread equals the answers of the Go relay. */
export async function assertSame(threads: ThreadsApi, truth: LegacyTruth): Promise<void> {
  const { thread_id } = truth.thread;
  // Ignore `by`: a Go relay did not record who created a thread.
  const { event_count, created_at, by: _, ...info } = await threads.get(thread_id);
  const { created_at: then, ...expectedInfo } = truth.thread;
  assert.deepEqual(info, expectedInfo);
  assert.deepEqual([event_count, Date.parse(created_at)], [truth.events.length, Date.parse(then)]);
  assert.deepEqual(await threads.state(thread_id), truth.state);
  const { artifacts } = await threads.artifacts(thread_id, { limit: 1000 });
  const listedArtifacts = artifacts.map(({ ref, type, mime, name, size, hash, created_at }) => {
    return { ref, type, mime, name, size, hash, created_at };
  });
  const expectedArtifacts = truth.artifacts.map(({ ref, type, mime, name = '', size, hash, created_at }) => {
    return { ref, type, mime, name, size, hash, created_at };
  });
  assert.deepEqual(new Set(listedArtifacts), new Set(expectedArtifacts));
  for (const { ref, hash } of truth.artifacts) {
    const { body } = await threads.content(thread_id, ref);
    assert.equal(
      createHash('sha256')
        .update(await readBytes(body))
        .digest('hex'),
      hash,
    );
  }
  const { events } = await threads.events(thread_id, { limit: 1000 });
  assert.deepEqual(
    events
      .filter(({ type }) => type !== 'artifact.pulled')
      .map(({ id, type, timestamp }) => ({ id, type, timestamp })),
    truth.events,
  );
  assert.equal((await threads.replay(thread_id)).matches, true);
  const { metrics } = await threads.header(thread_id);
  const { naive_tokens, avoided_tokens } = await threads.stats(thread_id);
  assert.deepEqual([metrics.tokens_estimate, metrics.tokens_avoided], [naive_tokens, avoided_tokens]);
}

/** Runs `relay import --legacy DIR --json` into another home. */
export async function importFrom(dir: string, home: string) {
  const { code, stdout, stderr } = await runHere(['import', '--legacy', dir, '--json'], { home });
  return { code, stderr, answer: JSON.parse(stdout === '' ? 'null' : stdout) };
}
