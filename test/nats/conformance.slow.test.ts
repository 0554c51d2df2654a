import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Env } from '../../src/base/env.ts';
import { openNats } from '../../src/engines/nats/engine.ts';
import { runConformance } from '../conformance/run.ts';
import { movableSuite } from '../conformance/suite.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';
import { damageBody } from './damage.ts';

const found = await findNatsServer();
if ('missing' in found) test('the conformance of nats', { skip: found.missing });
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
      // With the role `cli`, a sweep deletes expired data at once. A server leaves that to JetStream.
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
