import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pause } from '../../src/base/pause.ts';
import { openNats } from '../../src/engines/nats/engine.ts';
import { until } from '../until.ts';
import { findNatsServer, startCluster } from './cluster.ts';
import { current, infoOf } from './raw-client.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

/** Deadline of a call. It is so short that a read fails if it waits for the frozen replica. */
const DEADLINE_MS = 4_000;
const READS = 15;

test('reads succeed before the deadline while one replica is frozen', {
  skip,
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster({ fsync: false });
  await using engine = await openNats({ url: cluster.url, deadlineMs: DEADLINE_MS });
  const { nats } = engine.connection;
  const body = new Uint8Array(700_000).fill(7);
  await engine.blobs.put('t/large', body);
  for (const n of [1, 2, 3]) await engine.logs.append('t/log', n);
  await current(nats, ['relay-blobs', 'relay-logs', 'relay-records']);
  const leaders = await Promise.all(
    ['relay-blobs', 'relay-logs'].map(async (stream) => (await infoOf(nats, stream)).cluster?.leader),
  );
  // Freeze a node that neither leads the blobs nor serves this client. It may lead the logs.
  const busy = [leaders[0], nats.info!.server_name];
  const node = cluster.nodes.find(({ name }) => !busy.includes(name))!;
  process.kill(node.pid!, 'SIGSTOP');
  try {
    for (let n = 0; n < READS; n++) {
      const blob = await engine.blobs.get('t/large');
      assert.deepEqual(await bytesOf(blob!.body), body);
    }
    if (leaders[1] === node.name) return;
    for (let n = 0; n < READS; n++)
      assert.deepEqual(
        (await engine.logs.read('t/log')).entries.map(({ data }) => data),
        [1, 2, 3],
      );
  } finally {
    process.kill(node.pid!, 'SIGCONT');
  }
});

test('writes continue on another node if the node of the client hangs while much is being sent', {
  skip,
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster({ fsync: false });
  await using engine = await openNats({ url: cluster.url });
  const { nats } = engine.connection;
  const body = new Uint8Array(2_000_000);
  let stopped = false;
  const writer = async (_: unknown, n: number) => {
    while (!stopped) await engine.blobs.put(`t/${n}`, body).catch(() => {});
  };
  const writers = Array.from({ length: 16 }, writer);
  await pause(1_000);
  const node = cluster.nodes.find(({ name }) => name === nats.info!.server_name)!;
  process.kill(node.pid!, 'SIGSTOP');
  try {
    await until(() => engine.connection.reconnects > 0, { everyMs: 100, timeoutMs: 60_000 });
    await engine.blobs.put('t/after', body);
    assert.notEqual(nats.info!.server_name, node.name);
  } finally {
    process.kill(node.pid!, 'SIGCONT');
    stopped = true;
    await Promise.all(writers);
  }
});

async function bytesOf(body: ReadableStream<Uint8Array> | Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await new Response(body as BodyInit).arrayBuffer());
}
