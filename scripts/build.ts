/**
 * Builds dist, the content of the npm package: the SDK as JavaScript with types (dist/src), the bundled
 * command line (dist/cli), the dashboard (dist/ui), the licences of bundled packages, man pages (dist/man)
 * and the guides as HTML (dist/docs). A failed build leaves the old dist unchanged.
 */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import type { Metafile } from 'esbuild';
import { packTokens } from '../src/text/token-table.ts';
import { bundleCli } from './build/bundle.ts';
import { buildDashboard } from './build/dashboard.ts';
import { thirdPartyNotices } from './build/notices.ts';
import { vocabulary } from './build/token-table.ts';
import { writePlainTypes } from './build/types.ts';
import { writeManPages } from './docs/man.ts';
import { writeSite } from './docs/site.ts';

const root = join(import.meta.dirname, '..');
process.chdir(root);
const began = new Date();
const cache = join('node_modules', '.cache');
const fresh = join(cache, `build-${process.pid}`);
const old = join(cache, `old-${process.pid}`);

try {
  mkdirSync(fresh, { recursive: true });
  const [, cli, dashboard] = await Promise.all([
    emitLibrary(fresh),
    emitCli(join(fresh, 'cli')),
    emitDashboard(join(fresh, 'ui')),
    writeManPages(join(fresh, 'man')),
  ]);
  writeSite(join(fresh, 'docs'));
  writeFileSync(join(fresh, 'THIRD-PARTY-NOTICES'), thirdPartyNotices([cli, dashboard]));
  swap();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
}

/**
 * Compiles the SDK and the integrations. The integrations are compiled without a type check, which would
 * need their frameworks. Their tests check the types.
 */
async function emitLibrary(outDir: string): Promise<void> {
  for (const project of ['tsconfig.build.json', 'src/integrations/tsconfig.build.json'])
    await emit(project, outDir);
  writePlainTypes(outDir);
  // The types use AsyncDisposable, which an older `lib` setting of a project lacks. So each entry point references the
  // library file that declares AsyncDisposable.
  for (const path of ['public', ...integrations()].map((entry) => join(outDir, 'src', entry, 'index.d.ts'))) {
    writeFileSync(path, `/// <reference lib="esnext.disposable" />\n${readFileSync(path, 'utf8')}`);
  }
}

async function emit(project: string, outDir: string): Promise<void> {
  const tsc = join('node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', project, '--outDir', outDir];
  const code = await new Promise((done, fail) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    child.once('error', fail);
    child.once('exit', done);
  });
  if (code !== 0) throw new Error('The SDK does not compile.');
}

function integrations(): string[] {
  return globSync('src/integrations/*/index.ts').map((path) => relative('src', dirname(path)));
}

async function emitCli(outdir: string): Promise<Metafile> {
  const metafile = await bundleCli(outdir);
  writeFileSync(join(outdir, 'o200k.br'), brotliCompressSync(packTokens(await vocabulary())));
  const launcher = join(outdir, 'relay.js');
  const mcp = join(outdir, 'contextrelay-mcp.js');
  copyFileSync(join('scripts', 'build', 'older-node.js'), join(outdir, 'older-node.js'));
  copyFileSync(join('scripts', 'build', 'relay.js'), launcher);
  copyFileSync(join('scripts', 'build', 'contextrelay-mcp.js'), mcp);
  for (const program of [launcher, mcp]) chmodSync(program, 0o755);
  // setup.mjs compares the mtime of this file with the mtimes of the sources. The file gets the time at which
  // the build began. So a source that was saved during the build counts as newer.
  utimesSync(launcher, began, began);
  return metafile;
}

/**
 * Builds the dashboard and compresses its files once with Brotli, so that servers never compress them. A
 * server decompresses a file for a client that does not accept Brotli.
 */
async function emitDashboard(outDir: string): Promise<Metafile> {
  const metafile = await buildDashboard(resolve(outDir));
  for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
    const path = join(outDir, name);
    if (!/\.(?:js|css|html|svg)$/.test(name)) continue;
    writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)));
    rmSync(path);
  }
  return metafile;
}

function swap(): void {
  try {
    renameSync('dist', old);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  renameSync(fresh, 'dist');
}
