import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bundleWorker, COMPATIBILITY } from '../../scripts/cloudflare/bundle.ts';
import { openWorkerd, type Workerd } from '../../scripts/cloudflare/local-worker.ts';
import { suite } from '../conformance/suite.ts';

const WORKER = resolve(import.meta.dirname, 'conformance-worker.ts');

/** All cases run in one workerd with separate objects. Several run at once. */
describe('conformance of cloudflare', { concurrency: 6 }, () => {
  let workerd: Workerd;
  before(async () => {
    const { script } = await bundleWorker({ entry: WORKER });
    workerd = await openWorkerd({
      modules: true,
      script,
      compatibilityFlags: COMPATIBILITY.flags,
      durableObjects: { CASES: { className: 'CaseObject', useSQLite: true } },
      r2Buckets: ['BODIES'],
    });
  });
  after(() => workerd.dispose());
  for (const { name } of suite) {
    test(name, async () => {
      const response = await workerd.dispatchFetch(`http://relay.test/${encodeURIComponent(name)}`);
      assert.equal(await response.text(), 'ok');
    });
  }
});
