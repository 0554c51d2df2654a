import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { copyEngine, openPlace } from '../../src/app/store/engine-copy.ts';
import { relay, temporaryHome } from '../cli/program.ts';
import { fill, readWholeStore, SILENT } from '../moving/stores.ts';
import { type Cluster, findNatsServer, startCluster } from '../nats/cluster.ts';
import { type Faults, startFaults } from './faults.ts';
import { findS3Server, type S3Server, startS3Server } from './server.ts';

const [s3, nats] = [await findS3Server(), await findNatsServer()];
const missing = [s3, nats].find((each) => 'missing' in each) as { missing: string } | undefined;
const MiB = 1024 * 1024;

describe('a cluster with a bucket', { skip: missing?.missing }, () => {
  let server: S3Server;
  let faults: Faults;
  let cluster: Cluster;
  before(async () => {
    [server, cluster] = await Promise.all([startS3Server(), startCluster({ fsync: false })]);
    faults = await startFaults(server.endpoint, 0);
    Object.assign(process.env, server.env);
  });
  after(async () => {
    for (const name of Object.keys(server.env)) delete process.env[name];
    for (const each of [faults, server, cluster]) await each[Symbol.asyncDispose]();
  });
  const address = (prefix: string, endpoint: string) =>
    `s3://${server.bucket}/${prefix}?endpoint=${endpoint}`;
  const objectsIn = async (prefix: string) =>
    [...(await server.list(`list-type=2&prefix=${prefix}/`)).matchAll(/<Key>(.*?)<\/Key>/g)].map(
      ([, name]) => name!,
    );

  test('a server serves large payloads and ranges of them, and everything else during an outage of the bucket', async () => {
    using place = temporaryHome();
    const { home } = place;
    const engine = `${cluster.url}/one`;
    const bucket = address('served', faults.endpoint);
    const env = { ...server.env, RELAY_ENGINE: engine };
    const ran = async (...args: string[]) => {
      const ended = await relay(args, { home, env });
      return { ...ended, all: ended.stdout + ended.stderr };
    };
    const stdoutOf = async (...args: string[]) => {
      const { code, all, stdout } = await ran(...args);
      assert.equal(code, 0, all);
      return stdout;
    };
    assert.match(await stdoutOf('--home', join(home, 'new'), 'status'), /engine +NATS .*\/one\n/);
    const up = await stdoutOf(
      'up',
      '--detach',
      '--port',
      '0',
      '--engine',
      engine,
      '--blobs',
      bucket,
      '--json',
    );
    const { url } = JSON.parse(up) as { url: string };
    const push = (body: Uint8Array<ArrayBuffer> | string) => fetch(`${url}/push`, { method: 'POST', body });
    const pull = async (id: string, headers = {}) => {
      const answer = await fetch(`${url}/pull/${id}?raw=1`, { headers });
      return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    try {
      const bytes = randomBytes(3 * MiB);
      const { id } = (await (await push(bytes)).json()) as { id: string };
      const small = (await (await push('small')).json()) as { id: string };
      const [name] = await objectsIn('served');
      assert.ok(name);
      assert.deepEqual(await pull(id), { status: 200, bytes });
      const part = await pull(id, { Range: 'bytes=1000000-2000000' });
      assert.deepEqual(part, { status: 206, bytes: bytes.subarray(1_000_000, 2_000_001) });
      assert.match(await stdoutOf('du'), /in the bucket +3 MiB in s3:\/\/bodies/);
      assert.match(await stdoutOf('status'), /engine +NATS .*\/one, large payloads in s3:\/\/bodies/);
      assert.match(await stdoutOf('doctor', '--deep'), /2 payloads read, 3 MiB, none damaged/);

      faults.isOut = true;
      assert.equal((await pull(id)).status, 503);
      assert.equal((await push(bytes)).status, 503);
      assert.deepEqual(await pull(small.id), { status: 200, bytes: Buffer.from('small') });
      assert.equal((await push('more')).status, 200);
      assert.match(await (await fetch(`${url}/ready`)).text(), /s3:\/\/bodies cannot be used/);
      assert.equal((await fetch(`${url}/metrics`)).status, 200);
      assert.match(await stdoutOf('du'), /in the bucket +no answer/);
      assert.match(await stdoutOf('status'), /s3:\/\/bodies cannot be used/);
      const backup = join(home, 'backup');
      assert.match(
        (await ran('backup', backup)).all,
        /Large payloads are stored in s3:\/\/bodies, which is not available/,
      );
      faults.isOut = false;

      // The repeated command completes the backup. Pulling from the backup then needs neither the cluster nor the bucket.
      assert.match(await stdoutOf('backup', backup), /backed up the cluster/);
      const pullResult = await relay(['--home', backup, 'pull', `${url}/pull/${id}`], { home });
      assert.deepEqual(pullResult.bytes, bytes, pullResult.stderr);
      await stdoutOf(
        'restore',
        backup,
        '--engine',
        `${cluster.url}/two`,
        '--blobs',
        address('restored', server.endpoint),
      );
      const [restored] = await objectsIn('restored');
      assert.ok(restored, 'the large body went into the bucket of the restored store');
      const elsewhere = { home, env: { ...server.env, RELAY_ENGINE: `${cluster.url}/two` } };
      const pulled = await relay(['--home', join(home, 'two'), 'pull', `${url}/pull/${id}`], elsewhere);
      assert.ok(pulled.bytes.equals(bytes), pulled.stderr);

      await server.flip(name, 100);
      assert.match((await ran('doctor', '--deep')).all, /is altered; used by pointer/);
    } finally {
      faults.isOut = false;
      await ran('down');
    }
  });

  test('a store moves from a home to a cluster and back, with and without a bucket at each end', async () => {
    using place = temporaryHome();
    const { home } = place;
    const from = join(home, 'first');
    const source = address('first', faults.endpoint);
    let expected: { [name: string]: unknown };
    {
      await using store = await openPlace(from, 'target', { blobs: source });
      await fill(store.engine, { scale: 110 });
      await store.engine.blobs.put('thr.one/artifacts/file', randomBytes(2 * MiB));
      expected = await readWholeStore(store.engine);
    }
    assert.equal((await objectsIn('first')).length, 4);
    const steps = [
      { to: `${cluster.url}/a`, objects: null },
      { to: join(home, 'b'), objects: 'b' },
      { to: `${cluster.url}/c`, objects: 'c' },
      { to: join(home, 'd'), objects: null },
    ];
    let last = from;
    for (const { to, objects } of steps) {
      const blobs = objects === null ? undefined : address(objects, server.endpoint);
      const { lost } = await copyEngine({ from: last, to, blobs, env: {} }, SILENT);
      assert.deepEqual(lost, []);
      if (objects !== null) assert.ok((await objectsIn(objects)).length >= 3, to);
      // The moved store must not need the source's bucket, so make it unavailable.
      faults.isOut = true;
      try {
        await using store = await openPlace(to, 'source');
        const contents = await readWholeStore(store.engine);
        for (const [name, value] of Object.entries(expected))
          assert.deepEqual(contents[name], value, `${to}: ${name}`);
        assert.equal((await store.engine.usage()).bucket === undefined, objects === null);
      } finally {
        faults.isOut = false;
      }
      last = to;
    }
  });
});
