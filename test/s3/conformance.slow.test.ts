import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Env } from '../../src/base/env.ts';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { type BucketEngine, withBucket } from '../../src/engines/s3/engine.ts';
import { STUB_BYTES } from '../../src/engines/s3/stub.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { blobCases } from '../conformance/blobs.ts';
import { engineCases } from '../conformance/engine.ts';
import { movingCases } from '../conformance/moving.ts';
import { runConformance } from '../conformance/run.ts';
import { stagedCases } from '../conformance/staged.ts';
import { damageBody } from '../sqlite/damage.ts';
import { type Faults, startFaults } from './faults.ts';
import { findS3Server, type S3Server, startS3Server } from './server.ts';

/** Cases about usage that fail with a bucket, because usage includes deleted objects until a sweep removes them. */
const COUNTED = [
  {
    name: 'engine: usage counts the stored data and decreases when it is deleted',
    reason: 'the bucket still counts objects that a sweep has not deleted, and the engine counts stubs',
  },
  {
    name: 'engine: a sweep deletes expired data, reports how much, and keeps the rest',
    reason: 'the object of an expired blob is swept an hour later',
  },
];

const s3Server = await findS3Server();
if ('missing' in s3Server) test('conformance of blobs in S3', { skip: s3Server.missing });
else {
  let server: S3Server;
  let faults: Faults;
  before(async () => {
    server = await startS3Server();
    faults = await startFaults(server.endpoint);
  });
  after(async () => {
    await faults[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  /** Size in bytes above which blobs are in the bucket. It is lower than in production, so that more cases use it. */
  const above = 60_000;
  const beside = async <E extends Engine>(engine: E, endpoint: string) =>
    (await withBucket(engine, {
      address: `s3://${server.bucket}/conformance?endpoint=${endpoint}`,
      env: server.env,
      above,
      tries: 8,
      pauseMs: 5,
    })) as E & BucketEngine;
  /** Damages a blob in the bucket or in the engine. */
  const damageIn = async (
    engine: BucketEngine,
    inner: Engine,
    key: string,
    at: number,
    inEngine: () => void,
  ) => {
    // Read only the stub. If the blob were read, the engine might cache it and not see the damage.
    const { items } = await inner.blobs.list(key, { limit: 1 });
    const stub = items[0]?.size === STUB_BYTES ? await engine.blobs.stub(key) : null;
    if (stub) return server.flip(`conformance/${stub.name}`, at);
    // Simulate another process, whose write would arrive in a later turn of the event loop.
    await setImmediate();
    inEngine();
  };

  runConformance(
    'blobs in S3 with the memory engine, despite faults',
    async (env: Env) => {
      const inner = openMemory({ env });
      const engine = await beside(inner, faults.endpoint);
      return {
        engine,
        damage: (key, at) => damageIn(engine, inner, key, at, () => inner.damage(key, at)),
        close: () => engine[Symbol.asyncDispose](),
      };
    },
    COUNTED,
    [...blobCases, ...stagedCases, ...engineCases],
  );

  runConformance(
    'blobs in S3 with the sqlite engine',
    async (env: Env) => {
      const home = mkdtempSync(join(tmpdir(), 'relay-s3-conformance-'));
      const inner = await openSqlite({ home, env, durability: 'process' });
      const engine = await beside(inner, server.endpoint);
      return {
        engine,
        damage: (key, at) => damageIn(engine, inner, key, at, () => damageBody(home, key, at)),
        async close() {
          await engine[Symbol.asyncDispose]();
          rmSync(home, { recursive: true });
        },
      };
    },
    COUNTED,
    [...blobCases, ...stagedCases, ...engineCases, ...movingCases],
  );
}
