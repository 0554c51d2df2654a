import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { build, type Metafile } from 'esbuild';
import { buildDashboard } from '../../scripts/build/dashboard.ts';
import { ROOT } from './processes.ts';

function schemasIn({ inputs }: Metafile): string[] {
  assert.ok(
    Object.keys(inputs).some((path) => path.includes('src/contract/')),
    'the contract was found',
  );
  return Object.keys(inputs).filter((path) => /node_modules\/zod\/|src\/schemas\//.test(path));
}

test('the SDK bundle contains no schema and no schema library', async () => {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/public/index.ts'],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    external: ['node:*'],
    logLevel: 'silent',
  });
  assert.deepEqual(schemasIn(metafile), []);
});

test('the dashboard bundle contains no schema and no schema library', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-dashboard-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  assert.deepEqual(schemasIn(await buildDashboard(folder)), []);
});
