import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { COMPATIBILITY } from '../../scripts/cloudflare/bundle.ts';
import { openWorkerd, type Workerd } from '../../scripts/cloudflare/local-worker.ts';
import { blobCases } from '../conformance/blobs.ts';
import { findS3Server, type S3Server, startS3Server } from './server.ts';

const s3Server = await findS3Server();

describe('blobs in S3 from inside workerd', { skip: 'missing' in s3Server && s3Server.missing }, () => {
  let server: S3Server;
  let workerd: Workerd;
  before(async () => {
    server = await startS3Server();
    const { outputFiles } = await build({
      entryPoints: [resolve(import.meta.dirname, 'bucket-worker.ts')],
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2024',
      external: ['node:*'],
    });
    workerd = await openWorkerd({
      modules: true,
      script: outputFiles[0]!.text,
      compatibilityFlags: COMPATIBILITY.flags,
      bindings: { ...server.env, ADDRESS: `s3://${server.bucket}/workerd?endpoint=${server.endpoint}` },
    });
  });
  after(async () => {
    await workerd.dispose();
    await server[Symbol.asyncDispose]();
  });
  const ask = async (name: string) =>
    (await workerd.dispatchFetch(`http://relay.test/${encodeURIComponent(name)}`)).text();

  test('the client puts objects, reads ranges, sends parts, lists and deletes', async () => {
    const size = 6 * 1024 * 1024 + 10;
    assert.deepEqual(JSON.parse(await ask('client')), {
      part: Array.from({ length: 7 }, (_, i) => (1_000_000 + i) % 251),
      end: [1, 2, 2],
      listed: [
        ['worker/one', 3_000_000],
        ['worker/two', size],
      ],
      missing: 'Error: not there',
    });
  });

  for (const { name } of blobCases) test(name, async () => assert.equal(await ask(name), 'ok'));
});
