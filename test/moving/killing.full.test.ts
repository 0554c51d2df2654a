import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findNatsServer, startCluster } from '../nats/cluster.ts';
import { killWhileCopying } from './killing.ts';

const natsServer = await findNatsServer();

test('a copy to a cluster and back is complete although it is killed again and again', async (t) => {
  if ('missing' in natsServer) return t.skip(natsServer.missing);
  const home = mkdtempSync(join(tmpdir(), 'relay-killed-copy-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  await using cluster = await startCluster({ fsync: false });
  const targetUrl = (n: number) => `${cluster.url}/there-${n}`;
  const back = (n: number) => join(home, `back-${n}`);
  await killWhileCopying(home, { from: join(home, 'a'), to: targetUrl, kills: 20, scale: 1000 });
  await killWhileCopying(home, { from: `${cluster.url}/other`, to: back, kills: 20, scale: 300 });
});
