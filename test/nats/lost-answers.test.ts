import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNats } from '../../src/engines/nats/engine.ts';
import { findNatsServer, startCluster } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;

test('an import recognises its own entry if the acknowledgement was lost', { skip }, async () => {
  await using cluster = await startCluster({ nodes: 1 });
  await using engine = await openNats({ url: cluster.url });
  const { nats } = engine.connection;
  await engine.moving.prepare(100);
  const request = nats.request.bind(nats);
  let lost = 0;
  nats.request = async (subject, ...rest) => {
    const answer = await request(subject, ...rest);
    if (!subject.startsWith('relay.l.') || lost++ % 2 === 1) return answer;
    throw Object.assign(new Error('timeout'), { name: 'TimeoutError' });
  };
  const entries = [1, 2, 3].map((seq) => ({ seq, at: 1_000 + seq, id: `id ${seq}`, data: { seq } }));
  await engine.moving.importEntries({ stream: 'chan/t/c', trimmed: 0 }, entries);
  assert.ok(lost >= 6, 'each entry was sent twice');
  const stored = await Array.fromAsync(engine.moving.exportEntries('chan/t/c', 0));
  assert.deepEqual(stored, entries);
});

test('an import ends with conflict if another process writes to the same log', { skip }, async () => {
  await using cluster = await startCluster({ nodes: 1 });
  await using engine = await openNats({ url: cluster.url });
  const { nats } = engine.connection;
  await engine.moving.prepare(100);
  const request = nats.request.bind(nats);
  nats.request = async (subject, ...rest) => {
    if (!subject.startsWith('relay.l.')) return request(subject, ...rest);
    nats.request = request;
    await engine.logs.append('chan/t/c', 'foreign');
    return request(subject, ...rest);
  };
  const entries = [{ seq: 1, at: 1, id: 'id', data: 1 }];
  await assert.rejects(engine.moving.importEntries({ stream: 'chan/t/c', trimmed: 0 }, entries), {
    code: 'conflict',
  });
});
