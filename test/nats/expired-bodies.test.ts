import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { openNats } from '../../src/engines/nats/engine.ts';
import { type Cluster, findNatsServer, startCluster } from './cluster.ts';

const natsServer = await findNatsServer();
const skip = 'missing' in natsServer ? natsServer.missing : false;
const BODY = new Uint8Array(700_000).fill(7);
const MINUTE = 60_000;

let cluster: Cluster;
before(async () => {
  if (!skip) cluster = await startCluster({ nodes: 1 });
});
after(() => cluster?.[Symbol.asyncDispose]());

/** Opens a store whose clock can be moved forward. */
async function open(name: string) {
  let ahead = 0;
  const env = { ...systemEnv, now: () => Date.now() + ahead };
  const engine = await openNats({ url: `${cluster.url}/${name}`, env, role: 'server' });
  const chunks = async () => {
    const filter = { subjects_filter: `${name}.c.>` };
    const info = (await engine.connection.api(`STREAM.INFO.${name}-blobs`, filter))!;
    return Object.keys((info.state as { subjects?: object }).subjects ?? {}).length;
  };
  const wait = (ms: number) => {
    ahead += ms;
  };
  return { engine, chunks, wait, now: env.now };
}

test('the space of an expired body is free within two minutes', { skip }, async () => {
  const { engine, chunks, wait, now } = await open('expired');
  await using _ = engine;
  await engine.sweep();
  await engine.blobs.put('t/short', BODY, { expiresAt: now() + MINUTE });
  await engine.blobs.put('t/long', BODY, { expiresAt: () => now() + 10 * MINUTE });
  const both = await chunks();
  wait(MINUTE);
  await engine.sweep();
  assert.equal(await chunks(), both, 'a reader may still need the chunks');
  wait(MINUTE);
  await engine.sweep();
  assert.equal(await chunks(), both / 2);
  assert.ok(await engine.blobs.get('t/long'));
});

test('a server that starts later frees the space of data that expired meanwhile', { skip }, async () => {
  const { engine, now } = await open('later');
  await engine.blobs.put('t/body', BODY, { expiresAt: now() + MINUTE });
  await engine[Symbol.asyncDispose]();
  const next = await open('later');
  await using _ = next.engine;
  next.wait(30 * MINUTE);
  await next.engine.sweep();
  assert.equal(await next.chunks(), 0);
});

test('the space of a deleted body is free within two minutes', { skip }, async () => {
  const { engine, chunks, wait } = await open('deleted');
  await using _ = engine;
  await engine.sweep();
  await engine.blobs.put('t/body', BODY);
  await engine.blobs.delete('t/body');
  wait(MINUTE);
  await engine.sweep();
  assert.equal(await chunks(), 0);
});

test('the chunks of an upload that was cut off are reported and deleted after an hour', {
  skip,
}, async () => {
  const { engine, chunks, wait } = await open('cut');
  await using _ = engine;
  await engine.connection.publish(
    'cut.c.0123456789abcdef0123456789abcdef.k',
    Buffer.from('{"key":"t/none"}'),
  );
  await engine.connection.publish('cut.c.0123456789abcdef0123456789abcdef.0', BODY.subarray(0, 1000));
  assert.deepEqual((await engine.sweep()).waiting, { count: 1, bytes: 0 });
  wait(61 * MINUTE);
  assert.equal((await engine.sweep()).waiting, undefined);
  assert.equal(await chunks(), 0);
});
