import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findNatsServer, startCluster } from '../nats/cluster.ts';
import { killWhileCopying } from './killing.ts';

const found = await findNatsServer();

test('a copy to a cluster and back is complete although it is killed again and again', async (t) => {
  if ('missing' in found) return t.skip(found.missing);
  const home = mkdtempSync(join(tmpdir(), 'relay-killed-copy-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  await using cluster = await startCluster({ fsync: false });
  const there = (n: number) => `${cluster.url}/there-${n}`;
  const back = (n: number) => join(home, `back-${n}`);
  await killWhileCopying(home, { from: join(home, 'a'), to: there, kills: 20, scale: 1000 });
  await killWhileCopying(home, { from: `${cluster.url}/other`, to: back, kills: 20, scale: 300 });
});
