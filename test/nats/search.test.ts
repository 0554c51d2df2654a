import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { TextWorkers } from '../../src/app/store/text-workers.ts';
import { openNats } from '../../src/engines/nats/engine.ts';
import { openThreads, text } from '../threads/open-threads.ts';
import { until } from '../until.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

let cluster: Cluster;
let folder: string;
before(async () => {
  if (skip) return;
  cluster = await startCluster({ fsync: false });
  folder = mkdtempSync(join(tmpdir(), 'relay-nats-search-'));
});
after(async () => {
  if (skip) return;
  await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

test('a search covers a long artifact to its end on every server, and the index file is private', {
  skip,
}, async () => {
  await using texts = new TextWorkers();
  const url = `${cluster.url}/t${randomUUID().slice(0, 8)}`;
  const open = (name: string) =>
    openNats({
      url,
      indexFile: join(folder, name),
      indexThreads: (job, o) => texts.index(job, o),
    });
  const modes = (name: string) =>
    ['', '-wal', '-shm'].map((end) => statSync(join(folder, name + end)).mode & 0o777);
  await using a = await open('a.db');
  const { api } = openThreads({ engine: a });
  const { thread_id } = await api.create();
  const body = text(`${'straw lies in the barn\n'.repeat(60_000)}at last a needle\n`);
  const { ref } = await api.putArtifact(thread_id, { body, name: 'barn.txt' });
  await until(async () => (await api.search(thread_id, 'needle')).hits.length > 0);
  const answer = await api.search(thread_id, 'needle');
  assert.deepEqual(
    [answer.hits.map((hit) => [hit.ref, hit.line > 59_000]), answer.unsearched],
    [[[ref, true]], undefined],
  );
  assert.deepEqual(modes('a.db'), [0o600, 0o600, 0o600]);
  {
    await using b = await open('b.db');
    assert.equal((await openThreads({ engine: b }).api.search(thread_id, 'needle')).hits[0]?.ref, ref);
  }
  chmodSync(join(folder, 'b.db'), 0o644);
  await using again = await open('b.db');
  const other = openThreads({ engine: again }).api;
  assert.equal((await other.search(thread_id, 'needle')).hits[0]?.ref, ref);
  assert.deepEqual(modes('b.db'), [0o600, 0o600, 0o600], 'what an earlier version made is put right');
  await other.deleteArtifact(thread_id, ref);
  assert.deepEqual((await api.search(thread_id, 'straw needle')).hits, []);
});
