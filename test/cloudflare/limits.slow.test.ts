import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { memoryGrowth } from '../../bench/worker-growth.ts';
import { bundleWorker } from '../../scripts/cloudflare/bundle.ts';
import { startWorker } from '../../scripts/cloudflare/local-worker.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import type { Wire } from '../http/relay-under-test.ts';

/** Limit of the free plan, which a local workerd does not enforce. */
const SCRIPT_BYTES = 3 * 1024 * 1024;
/** Maximum memory of an isolate in MB, on every plan. */
const MEMORY_MB = 128;

test('the bundle with the token table fits the free plan', async () => {
  const { script, table } = await bundleWorker();
  const size = gzipSync(script).length + gzipSync(table).length;
  assert.ok(size < SCRIPT_BYTES, `${size} bytes compressed`);
});

test('a search says which artifacts are indexed only in part', async (t) => {
  const worker = await startWorker();
  t.after(() => worker.stop());
  const relay = new ContextRelay({ baseUrl: worker.url });
  const thread = await relay.threads.create({ name: 't' });
  const straw = 'straw lies in the barn\n'.repeat(90_000);
  const barn = `a thimble\n${straw}a needle\n`;
  const { ref, size } = await thread.artifacts.put(barn, { name: 'barn.txt' });
  const answer = await fetch(`${worker.url}/threads/${thread.id}/search?q=thimble+needle`);
  const seen = (await answer.json()) as Wire;
  assert.match(seen.hits[0].snippet, /thimble/);
  const [part] = seen.unsearched.artifacts;
  assert.deepEqual(
    [seen.unsearched.indexing, seen.hits[0].ref, part.ref, part.size],
    [false, ref, ref, size],
  );
  assert.ok(part.searched >= 1024 * 1024 && part.searched < size, `${part.searched} of ${size}`);
});

for (const form of ['raw', 'json'] as const)
  test(`a push and a pull of 25 MB (${form}) stay within the memory of an isolate`, {
    skip: process.platform !== 'linux' && 'memory is read from /proc',
  }, async (t) => {
    const grown = await memoryGrowth(form, 25_000_000);
    for (const [verb, megabytes] of Object.entries(grown)) {
      t.diagnostic(`a ${verb} added ${megabytes.toFixed()} MB`);
      assert.ok(megabytes > 0 && megabytes < MEMORY_MB, `a ${verb} added ${megabytes} MB`);
    }
  });

test('metrics are rejected with a reason, because a Worker is not one process', async (t) => {
  const worker = await startWorker();
  t.after(() => worker.stop());
  const answer = await fetch(`${worker.url}/metrics`);
  assert.equal(answer.status, 404);
  assert.match(((await answer.json()) as Wire).hint, /GET \/usage/);
});
