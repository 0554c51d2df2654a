import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { openWorkerd } from '../../scripts/cloudflare/local-worker.ts';
import { suite } from '../conformance/suite.ts';

const WORKER = resolve(import.meta.dirname, 'conformance-worker.ts');

describe('conformance of cloudflare', () => {
  let script: string;
  before(async () => {
    const { outputFiles } = await build({
      entryPoints: [WORKER],
      bundle: true,
      write: false,
      format: 'esm',
      target: 'es2024',
      external: ['cloudflare:workers'],
    });
    script = outputFiles[0]!.text;
  });
  for (const { name } of suite) {
    test(name, async (t) => {
      const workerd = await openWorkerd({
        modules: true,
        script,
        durableObjects: { STORE: { className: 'StillObject', useSQLite: true } },
        r2Buckets: ['BODIES'],
      });
      t.after(() => workerd.dispose());
      const response = await workerd.dispatchFetch(`http://relay.test/${encodeURIComponent(name)}`);
      assert.equal(await response.text(), 'ok');
    });
  }
});
