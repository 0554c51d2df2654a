import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { build, type Metafile } from 'esbuild';

/** Entry point of the command line. It exports `runMain`, which `relay.js` calls. */
const MAIN = 'src/app/main.ts';

/** Entry point of `contextrelay/runners`. The SDK loads it only in Node. */
const RUNNERS = 'src/app/agents/node-runners.ts';

/** Entry point of `contextrelay/testing`. */
const TESTING = 'src/app/testing.ts';

/**
 * Bundles the command line into `outdir`: the entry points `main.js`, `node-runners.js` and `testing.js`, one chunk per
 * lazily loaded part, and the worker threads. Returns the metafile, which lists the bundled sources.
 */
export async function bundleCli(outdir: string): Promise<Metafile> {
  const { metafile } = await build({
    outdir,
    entryPoints: { main: MAIN, 'node-runners': RUNNERS, testing: TESTING, ...workers() },
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Define `require`: bundled CommonJS packages call `require('events')`, but an ES module has no `require`.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
  return metafile;
}

/**
 * Returns the entry points of the worker threads, the files `*-worker.ts`, by name. The names must be unique,
 * because all bundled files are in one folder.
 */
function workers(): Record<string, string> {
  const pathByName: Record<string, string> = {};
  for (const path of globSync('src/**/*-worker.ts', { exclude: ['**/node_modules/**'] }).sort()) {
    const name = basename(path, '.ts');
    if (pathByName[name])
      throw new Error(`${path} and ${pathByName[name]} would overwrite each other: rename one.`);
    pathByName[name] = path;
  }
  return pathByName;
}
