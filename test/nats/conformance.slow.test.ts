import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Env } from '../../src/base/env.ts';
import { openNats } from '../../src/engines/nats/engine.ts';
import { runConformance } from '../conformance/run.ts';
import { movableSuite } from '../conformance/suite.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';
import { damageBody } from './damage.ts';

const natsServer = await findNatsServer();
if ('missing' in natsServer) test('the conformance of nats', { skip: natsServer.missing });
else {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ fsync: false });
  });
  after(() => cluster[Symbol.asyncDispose]());

  const open = async (env: Env) => {
    const name = `t${randomUUID().slice(0, 8)}`;
    const engine = await openNats({
      url: `${cluster.url}/${name}`,
      env,
      deadlineMs: 100_000,
      // The cases expect that a sweep deletes expired data at once. Only the role `cli` does so: a server leaves it to
      // JetStream.
      role: 'cli',
    });
    return {
      engine,
      damage: (key: string, offset: number) => damageBody(engine, name, key, offset),
      close: () => engine[Symbol.asyncDispose](),
    };
  };
  runConformance('nats on a cluster of three', open, [], movableSuite);
}
