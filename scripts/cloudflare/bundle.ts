import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { buildDashboard } from '../build/dashboard.ts';
import { tokenTable } from '../build/token-table.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const BUILD_DIR = join(ROOT, 'deploy', 'cloudflare', 'build');
export const COMPATIBILITY = { date: '2026-07-01', flags: ['nodejs_compat', 'enable_request_signal'] };

/** Keeps the token table out of the bundle, because it is a separate binary module. */
const besideWorker: Plugin = {
  name: 'beside-worker',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^relay:token-table$/ }, () => ({ path: './o200k.bin', external: true })),
};

const ENTRY = join(ROOT, 'src/app/cloudflare/worker.ts');

/** Bundles the Worker into one script and returns it with the token table. */
export async function bundleWorker(
  o: { readonly entry?: string; readonly version?: string; readonly plugins?: readonly Plugin[] } = {},
): Promise<{ script: string; table: Uint8Array }> {
  const version = o.version ?? JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
  const { outputFiles } = await build({
    entryPoints: [o.entry ?? ENTRY],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:workers', 'node:async_hooks', 'node:zlib'],
    plugins: [besideWorker, ...(o.plugins ?? [])],
    define: { RELAY_VERSION: JSON.stringify(version) },
  });
  const script = outputFiles[0]!.text;
  const table = await tokenTable();
  return { script, table };
}

/** Writes the Worker and the dashboard into the folder that wrangler.toml names. */
export async function writeWorker(): Promise<void> {
  const { script, table } = await bundleWorker();
  rmSync(BUILD_DIR, { recursive: true, force: true });
  const worker = join(BUILD_DIR, 'worker');
  mkdirSync(worker, { recursive: true });
  writeFileSync(join(worker, 'worker.js'), script);
  writeFileSync(join(worker, 'o200k.bin'), table);
  await buildDashboard(join(BUILD_DIR, 'pages'));
}
