import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { TextWorkers } from '../../src/app/store/text-workers.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { type Failure, startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';

let home: string;
before(() => {
  home = mkdtempSync(join(tmpdir(), 'relay-searching-'));
});
after(() => rmSync(home, { recursive: true, force: true }));

test('searches run in worker threads, and one that takes too long is refused', async () => {
  await using texts = new TextWorkers();
  await using one = new TextWorkers({ threads: 1 });
  await using hasty = new TextWorkers({ timeMs: 1 });
  let searching = texts;
  const open = () =>
    openSqlite({
      home,
      role: 'server',
      indexThreads: (job, o) => (job.search ? searching : texts).index(job, o),
    });
  await using relay = await startRelay({ open, texts });
  const post = async (path: string, body: string): Promise<{ thread_id: string }> => {
    const headers = { 'Content-Type': path === '/threads' ? 'application/json' : 'text/plain' };
    const answer = await fetch(relay.url + path, { method: 'POST', body, headers });
    assert.ok(answer.ok, String(answer.status));
    return (await answer.json()) as { thread_id: string };
  };
  const { thread_id } = await post('/threads', '{}');
  const straw = 'the straw in the barn is dry, and the barn is full\n'.repeat(10_000);
  await post(`/threads/${thread_id}/artifacts?name=barn.txt`, `${straw}a needle\n`);
  const search = (query: string) =>
    fetch(`${relay.url}/threads/${thread_id}/search?q=${encodeURIComponent(query)}`);
  const hits = async (answer: Response) => ((await answer.json()) as { hits: unknown[] }).hits.length;
  await until(async () => (await hits(await search('needle'))) === 1);

  searching = one;
  const controller = new AbortController();
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(4096).fill(10)),
  });
  const busy = one.part(endless, { lines: '-1' }, controller).catch(() => {});
  const waiting = search('needle');
  await until(() => one.jobs.waiting === 1);
  assert.equal((await fetch(`${relay.url}/health`)).status, 200);
  controller.abort();
  assert.equal(await hits(await waiting), 1, 'it waited for a thread');
  await busy;

  searching = hasty;
  const refused = await search('straw barn dry full needle');
  assert.deepEqual([refused.status, ((await refused.json()) as Failure).code], [422, 'too_costly']);
  searching = texts;
  assert.equal(await hits(await search('needle')), 1, 'the next one is answered');
});
