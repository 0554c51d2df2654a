import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { COMPATIBILITY } from '../../scripts/cloudflare/bundle.ts';
import { workerOptions } from '../../scripts/cloudflare/local-worker.ts';
import { SCRIPTS, startDev } from './dev-server.ts';

const DEPLOY = join(SCRIPTS, '..', '..', 'deploy', 'cloudflare');

function dryRun(t: TestContext) {
  const out = mkdtempSync(join(tmpdir(), 'relay-deploy-'));
  t.after(() => rmSync(out, { recursive: true, force: true }));
  const args = [join(SCRIPTS, 'deploy.ts'), '--dry-run', '--outdir', out];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
  return { out, said: stdout + stderr };
}

test('wrangler accepts the Worker, the token table and the dashboard without a warning', (t) => {
  const { out, said } = dryRun(t);
  assert.match(said, /TENANTS[\s\S]*STORE[\s\S]*BODIES[\s\S]*ASSETS/);
  assert.match(said, /Read \d\d files from the assets directory .*pages/);
  assert.doesNotMatch(said, /warning/i);
  assert.deepEqual(readdirSync(out).sort(), ['README.md', 'o200k.bin', 'worker.js']);
});

test('a dry-run deployment does not disturb a running dev server and its dashboard', async (t) => {
  const { url } = await startDev(t);
  dryRun(t);
  const page = await fetch(`${url}/ui`);
  assert.equal(page.status, 200);
  const [script] = /\/ui\/assets\/[^"]+/.exec(await page.text())!;
  assert.equal((await fetch(url + script)).status, 200);
});

test('the deployment has the settings of the dev server, no cron job and the migrations of its objects', () => {
  const { unstable_readConfig: read } = createRequire(join(DEPLOY, 'package.json'))('wrangler');
  const config = structuredClone(read({ config: join(DEPLOY, 'wrangler.toml') }));
  const here = workerOptions({ script: '', table: new Uint8Array() }, { vars: {}, pages: 'pages' });
  assert.equal(config.compatibility_date, COMPATIBILITY.date);
  assert.deepEqual(config.compatibility_flags, COMPATIBILITY.flags);
  const objects = Object.entries(here.durableObjects).map(([name, { className: class_name }]) => ({
    name,
    class_name,
  }));
  assert.deepEqual(config.durable_objects.bindings, objects);
  assert.deepEqual(config.migrations, [
    { tag: 'v1', new_sqlite_classes: ['RelayObject'] },
    { tag: 'v2', new_sqlite_classes: ['TenantObject'] },
  ]);
  const buckets = config.r2_buckets.map(({ binding }: { binding: string }) => binding);
  assert.deepEqual(buckets, here.r2Buckets);
  assert.deepEqual(config.triggers.crons, [], 'an empty list removes the cron job of an earlier version');
  assert.deepEqual(config.assets, {
    directory: 'build/pages',
    binding: 'ASSETS',
    run_worker_first: true,
    ...here.assets?.assetConfig,
  });
});
