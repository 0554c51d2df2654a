import { globSync } from 'node:fs';
import { basename, relative, resolve } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';

/** What agents call all day. These start from one file, because every further one costs a millisecond or more. */
export const HOT_COMMANDS = ['peek', 'pull', 'push', 'rm'];

/** What these commands always need, though the sources load it late for the sake of the others. */
const HOT_PARTS = [
  ...HOT_COMMANDS.map((name) => `src/interfaces/cli/commands/${name}.ts`),
  'src/app/open-relay.ts',
  'src/engines/sqlite/engine.ts',
];

/**
 * Bundles the command line into `outdir`: `hot.js` for the commands above, `main.js` for all, a chunk for each part that
 * is loaded only when needed, and the worker threads. Answers what went into it.
 */
export async function bundleCli(outdir: string): Promise<Metafile> {
  const late: Record<string, string> = {};
  const options: BuildOptions & { metafile: true } = {
    outdir,
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    minifyWhitespace: true,
    // Identifiers stay: stack traces are read. Keeping `name` exact as well would cost a call for every closure that
    // is made, an eighth of a pull.
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  };
  const hot = await build({
    ...options,
    // Setting the name of every function again takes 2 ms.
    keepNames: false,
    entryPoints: { hot: 'bin/relay.ts' },
    plugins: [builtins, leaveLate(late)],
  });
  const all = await build({
    ...options,
    entryPoints: { main: 'bin/relay.ts', ...workers(), ...late },
    splitting: true,
    plugins: [builtins],
  });
  return {
    inputs: { ...hot.metafile.inputs, ...all.metafile.inputs },
    outputs: { ...hot.metafile.outputs, ...all.metafile.outputs },
  };
}

/**
 * Node's own modules without `import`, which would evaluate every lazy part of them: 6 ms for node:fs alone. And a bundled
 * CommonJS package still calls `require('events')`, which an ES module does not have. What is imported late stays as it is.
 */
const builtins: Plugin = {
  name: 'builtins',
  setup(building) {
    building.onResolve({ filter: /^[a-z0-9:_/]+$/ }, ({ kind, path }) => {
      if (!process.getBuiltinModule(path)) return undefined;
      return kind === 'dynamic-import' ? { path, external: true } : { path, namespace: 'builtin' };
    });
    // esbuild copies the properties of what it is given, which would evaluate them too; inherited ones it leaves alone.
    building.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `const builtin = process.getBuiltinModule(${JSON.stringify(path)});
        module.exports = typeof builtin === 'function' ? builtin : Object.create(builtin);`,
    }));
  },
};

/** Leaves what is loaded late out of the one file, notes it, and points to where the other build puts it. */
function leaveLate(late: Record<string, string>): Plugin {
  return {
    name: 'leave-late',
    setup(building) {
      building.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) => {
        const source = relative('.', resolve(resolveDir, path));
        if (kind !== 'dynamic-import' || HOT_PARTS.includes(source)) return undefined;
        const name = source
          .replace(/^src\//, '')
          .replace(/\.ts$/, '')
          .replaceAll('/', '-');
        late[name] = source;
        return { path: `./${name}.js`, external: true };
      });
    },
  };
}

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
