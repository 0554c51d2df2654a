import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { tokenTable } from '../build/token-table.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const WORKER_DIR = join(ROOT, 'deploy', 'cloudflare', 'build');
export const COMPATIBILITY = { date: '2026-07-01', flags: ['nodejs_als'] };

/** The table of tokens is a module of its own, of bytes. */
const besideWorker: Plugin = {
  name: 'beside-worker',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^relay:token-table$/ }, () => ({ path: './o200k.bin', external: true })),
};

const ENTRY = join(ROOT, 'src/app/cloudflare/worker.ts');

/** Makes of the sources what a Worker runs: one module, and the table of tokens beside it. */
export async function bundleWorker(entry = ENTRY): Promise<{ script: string; table: Uint8Array }> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:workers', 'node:async_hooks'],
    plugins: [besideWorker],
    define: { RELAY_VERSION: JSON.stringify(version) },
  });
  const script = outputFiles[0]!.text;
  const table = await tokenTable();
  return { script, table };
}

/** Puts it where wrangler.toml looks for it. */
export async function writeWorker(): Promise<void> {
  const { script, table } = await bundleWorker();
  mkdirSync(WORKER_DIR, { recursive: true });
  writeFileSync(join(WORKER_DIR, 'worker.js'), script);
  writeFileSync(join(WORKER_DIR, 'o200k.bin'), table);
}
