import type { Matrix } from '../engine-matrix.ts';
import { findNatsServer, startCluster } from './cluster.ts';

/** Runs tests on a real cluster of three nodes, or skips them if there is no nats-server. */
export async function clusterMatrix(): Promise<Matrix> {
  const natsServer = await findNatsServer();
  return {
    on: 'a cluster',
    skip: 'missing' in natsServer && natsServer.missing,
    async start() {
      const cluster = await startCluster({ fsync: false });
      return {
        variables: { RELAY_TEST_ENGINE: cluster.url },
        stop: async () => cluster[Symbol.asyncDispose](),
      };
    },
  };
}
