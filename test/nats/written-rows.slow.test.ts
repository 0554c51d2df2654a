import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { openNats } from '../../src/engines/nats/engine.ts';
import { ROWS, rowsWritten } from '../written-rows.ts';
import { findNatsServer, startCluster } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

test('a push and a pull write few messages in a cluster', { skip }, async (t) => {
  await using cluster = await startCluster({ fsync: false });
  const url = `${cluster.url}/t${randomUUID().slice(0, 8)}`;
  await using engine = await openNats({ url });
  await using closing = new AsyncDisposableStack();
  const nats = await connect({ servers: cluster.url.slice('nats://'.length).split(',') });
  closing.defer(() => nats.close());
  const written = async () => {
    const answer = await nats.request('$JS.API.STREAM.LIST', '{}', { timeout: 10_000 });
    const { streams } = answer.json() as { streams: { state: { last_seq: number } }[] };
    return streams.reduce((sum, { state }) => sum + state.last_seq, 0);
  };
  for (const auth of ['open', 'keys'] as const) {
    const rows = await rowsWritten(engine, auth, written);
    t.diagnostic(`${auth}: ${JSON.stringify(rows)}`);
    assert.ok(rows.push > 0 && rows.push <= ROWS.push, JSON.stringify(rows));
    assert.ok(rows.pull > 0 && rows.pull <= ROWS.pull, JSON.stringify(rows));
  }
});
