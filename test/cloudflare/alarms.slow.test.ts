import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundleWorker } from '../../scripts/cloudflare/bundle.ts';
import { openWorkerd } from '../../scripts/cloudflare/local-worker.ts';
import { until } from '../until.ts';

test('an evicted object keeps its alarm if a later one is requested', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'relay-alarms-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const { script } = await bundleWorker({ entry: join(import.meta.dirname, 'object-worker.ts') });
  const open = () =>
    openWorkerd({
      modules: true,
      script,
      durableObjects: { STORE: { className: 'StoreObject', useSQLite: true } },
      r2Buckets: ['BODIES'],
      defaultPersistRoot: home,
    });
  let workerd = await open();
  t.after(() => workerd.dispose());
  const ask = async (method: string, ...given: unknown[]) => {
    const body = JSON.stringify({ object: 'of.ten.a', method, given });
    return (await workerd.dispatchFetch('http://relay.test/', { method: 'POST', body })).json();
  };
  const put = (key: string, lives: number) => {
    const now = Date.now();
    return ask('putRecord', `ten.a/${key}`, '1', { now, expiresAt: now + lives });
  };
  await put('soon', 3_000);
  await workerd.dispose();
  workerd = await open();
  await put('late', 3_600_000);
  await until(async () => ((await ask('totals')) as { records: number }).records === 1);
});
