import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openPlace } from '../../src/app/store/engine-copy.ts';
import { pause } from '../../src/base/pause.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { runHere } from '../cli/in-process.ts';
import { patterned } from '../conformance/bodies.ts';
import { readAll } from '../conformance/streams.ts';
import { findNatsServer, startCluster } from '../nats/cluster.ts';
import { fill, readWholeStore } from './stores.ts';

const natsServer = await findNatsServer();

interface Event {
  readonly does: 'put' | 'delete';
  readonly body: string;
}

/** Writes as a thread does: stores a body before its log entry, and deletes a body after the log entry about its deletion. */
async function write(engine: Engine, thread: string, n: number): Promise<void> {
  const body = `${thread}/artifacts/${n}`;
  await engine.blobs.put(body, patterned(300 + n, n + 1));
  await engine.logs.append(thread, { does: 'put', body });
  if (n % 2 === 0) return;
  const old = `${thread}/artifacts/${n - 1}`;
  await engine.logs.append(thread, { does: 'delete', body: old });
  await engine.blobs.delete(old);
}

test('a cluster under constant writes is backed up with a consistent snapshot of each thread, and restored', async (t) => {
  if ('missing' in natsServer) return t.skip(natsServer.missing);
  const home = mkdtempSync(join(tmpdir(), 'relay-cluster-backup-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  await using cluster = await startCluster({ nodes: 1, fsync: false });
  const [url, other, folder] = [`${cluster.url}/one`, `${cluster.url}/two`, join(home, 'backup')];
  const stdoutOf = async (...args: string[]) => {
    const { code, stderr } = await runHere(args, { home });
    assert.equal(code, 0, stderr);
  };
  {
    await using from = await openPlace(url, 'source');
    await fill(from.engine, { scale: 100 });
    let stopped = false;
    const writing = Array.from({ length: 4 }, async (_, i) => {
      for (let n = 0; !stopped; n++) {
        await write(from.engine, `thr.live${i}`, n);
        // Pause between two changes of a thread, as people and agents do.
        await pause(Math.random() * 200);
      }
    });
    try {
      await stdoutOf('backup', '--engine', url, folder);
    } finally {
      stopped = true;
      await Promise.all(writing);
    }
  }
  {
    await using backup = await openPlace(folder, 'source');
    for (let i = 0; i < 4; i++) {
      const bodies = new Set<string>();
      for (const { data } of await readAll(backup.engine.logs, `thr.live${i}`)) {
        const { does, body } = data as unknown as Event;
        if (does === 'put') bodies.add(body);
        else bodies.delete(body);
      }
      assert.ok(bodies.size > 0);
      for (const body of bodies) assert.ok(await backup.engine.blobs.get(body), body);
    }
    const refused = await runHere(['restore', folder, '--engine', url], { home });
    assert.match(refused.stderr, /already contains a store/);
  }
  await stdoutOf('restore', folder, '--engine', other);
  await using backup = await openPlace(folder, 'source');
  await using restored = await openPlace(other, 'source');
  assert.deepEqual(await readWholeStore(restored.engine), await readWholeStore(backup.engine));
  const before = await backup.engine.moving.highestNumber();
  assert.ok((await restored.engine.logs.append('thr.one', 'next'))! > before);
});
