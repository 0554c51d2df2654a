import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';

/**
 * Bundles the command line into `outdir`: `main.js`, a chunk for each part that is loaded only when needed, and the
 * worker threads. Answers what went into it.
 */
export async function bundleCli(outdir: string): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: { main: 'bin/relay.ts', ...workers() },
    outdir,
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    minifyWhitespace: true,
    minifySyntax: true,
    keepNames: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    plugins: [builtinsForCommonJs],
  });
  return metafile;
}

/** A bundled CommonJS package still calls `require('events')`, which an ES module does not have. */
const builtinsForCommonJs: Plugin = {
  name: 'builtins-for-commonjs',
  setup(building) {
    building.onResolve({ filter: /^[a-z0-9:_/]+$/ }, ({ kind, path }) =>
      kind === 'require-call' && process.getBuiltinModule(path) ? { path, namespace: 'builtin' } : undefined,
    );
    building.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/**
 * A thread is a file `<subject>-worker.ts`, and whoever starts it looks for it beside himself, as `.ts` or as `.js`.
 * In the bundle all files lie in one folder, so the names alone must be unique.
 */
function workers(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const path of globSync('src/**/*-worker.ts').sort()) {
    const name = basename(path, '.ts');
    if (found[name]) throw new Error(`${path} and ${found[name]} would overwrite each other: rename one.`);
    found[name] = path;
  }
  return found;
}
