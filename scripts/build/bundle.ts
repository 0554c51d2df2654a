import { hash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';

/**
 * The files that the launcher starts what agents call all day from: one file each, because every further one costs a
 * millisecond or more. They begin like `main.js`, and hold besides what those commands always need and the sources load late
 * for the sake of the others. Each is a script that begins with a hash of itself, by which the launcher keeps what V8 made of it.
 */
const HOT_FILES: { readonly [file: string]: readonly string[] } = {
  store: [
    ...['peek', 'pull', 'push', 'rm'].map((name) => `src/interfaces/cli/pointers/${name}.ts`),
    'src/interfaces/cli/artifacts/put.ts',
    'src/interfaces/cli/artifacts/get.ts',
    'src/interfaces/cli/state/header.ts',
    'src/interfaces/cli/state/patch.ts',
    // The one hook that reads the store; the others read the project's files.
    'src/interfaces/cli/coding-agents/hook.ts',
    'src/app/agents/thread-memory.ts',
    'src/app/store/open-relay.ts',
    'src/app/store/open-core.ts',
    'src/app/store/mirror.ts',
    'src/app/store/peek-inbox.ts',
    'src/app/store/token-counter.ts',
    'src/domain/threads/headers.ts',
    'src/domain/threads/thread-services.ts',
    'src/engines/sqlite/engine.ts',
    'src/sdk/context-relay.ts',
    'src/sdk/http-relay.ts',
    'src/text/preview/preview.ts',
  ],
  // What answers a client that has just begun; the tools open the store when they are first called.
  mcp: ['src/interfaces/cli/server/mcp.ts', 'src/app/mcp/mcp-stdio.ts'],
  hook: [
    'src/interfaces/cli/coding-agents/hook.ts',
    'src/app/projects/open-project.ts',
    'src/app/store/own-text-work.ts',
    'src/app/store/token-counter.ts',
    'src/text/sanitize/neutralise.ts',
  ],
};

const OPTIONS = {
  entryNames: '[name]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  platform: 'node',
  minifyWhitespace: true,
  // Identifiers stay: stack traces are read. Keeping `name` exact as well would cost a call for every closure that
  // is made, an eighth of a pull.
  minifySyntax: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

/** Exports `runMain`, which the launcher calls. */
const MAIN = 'src/app/main.ts';

/** What the SDK loads in Node and nowhere else: `contextrelay/runners`. */
const RUNNERS = 'src/app/agents/node-runners.ts';

/**
 * Bundles the command line into `outdir`: the files above, `main.js` for all commands, a chunk for each part that is loaded
 * only when needed, and the worker threads. Gives what went into it.
 */
export async function bundleCli(outdir: string): Promise<Metafile> {
  const late: Record<string, string> = {};
  const options = { ...OPTIONS, outdir, format: 'esm', target: 'node20' } as const;
  const built: Metafile[] = [];
  for (const [file, inside] of Object.entries(HOT_FILES)) {
    const script = await build({
      ...options,
      entryPoints: { [file]: MAIN },
      format: 'cjs',
      define: { 'import.meta.url': '__url', 'import.meta.filename': '__filename' },
      write: false,
      plugins: [builtins('early'), leaveLate(late, inside)],
    });
    for (const { path, contents } of script.outputFiles) {
      mkdirSync(dirname(path), { recursive: true });
      const script = `(function(module,__filename,__url){${Buffer.from(contents)}\n})`;
      writeFileSync(path, `//${hash('sha256', script).slice(0, 32)}\n${script}`);
    }
    built.push(script.metafile);
  }
  const all = await build({
    ...options,
    entryPoints: { main: MAIN, 'node-runners': RUNNERS, ...workers(), ...late },
    splitting: true,
    plugins: [builtins('early')],
  });
  built.push(all.metafile);
  return together(built);
}

/** Bundles the command line into one script, `main.js`, and each worker thread into another: what a single executable can run. */
export async function bundleExecutable(outdir: string): Promise<Metafile> {
  const main = { contents: `import { runMain } from './${MAIN}'; runMain();`, resolveDir: '.' };
  // There are no files beside it to import; what asks for its own place asks first whether it is in an executable.
  const options = { ...OPTIONS, outdir, format: 'cjs', target: 'node26' } as const;
  const quiet = {
    logOverride: { 'empty-import-meta': 'silent' },
    plugins: [builtins('all')],
  } satisfies BuildOptions;
  const program = await build({ ...options, ...quiet, stdin: main, entryNames: 'main' });
  const threads = await build({ ...options, ...quiet, entryPoints: workers() });
  return together([program.metafile, threads.metafile]);
}

function together(built: readonly Metafile[]): Metafile {
  return {
    inputs: Object.assign({}, ...built.map(({ inputs }) => inputs)),
    outputs: Object.assign({}, ...built.map(({ outputs }) => outputs)),
  };
}

/**
 * Node's own modules without `import`, which would evaluate every lazy part of them: 6 ms for node:fs alone. And a bundled
 * CommonJS package still calls `require('events')`, which an ES module does not have. What is imported late stays as it is, except in an
 * executable, which has no `import`.
 */
const builtins = (which: 'early' | 'all'): Plugin => ({
  name: 'builtins',
  setup(building) {
    building.onResolve({ filter: /^[a-z0-9:_/]+$/ }, ({ kind, path }) => {
      if (!process.getBuiltinModule(path)) return undefined;
      const leave = kind === 'dynamic-import' && which === 'early';
      return leave ? { path, external: true } : { path, namespace: 'builtin' };
    });
    // esbuild copies the properties of what it is given, which would evaluate them too; inherited ones it leaves alone.
    building.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `const builtin = process.getBuiltinModule(${JSON.stringify(path)});
        // An older Node may lack it, and runs what does without.
        module.exports = typeof builtin === 'function' ? builtin : Object.create(builtin ?? null);`,
    }));
  },
});

/** Leaves what is loaded late out of the one file, notes it, and points to where the other build puts it. */
function leaveLate(late: Record<string, string>, inside: readonly string[]): Plugin {
  const missing = inside.filter((source) => !existsSync(source));
  if (missing.length > 0)
    throw new Error(`scripts/build/bundle.ts names what is not there: ${missing.join(', ')}`);
  return {
    name: 'leave-late',
    setup(building) {
      building.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) => {
        const source = relative('.', resolve(resolveDir, path));
        if (kind !== 'dynamic-import' || inside.includes(source)) return undefined;
        late[lateName(source)] = source;
        return { path: `./${lateName(source)}.js`, external: true };
      });
    },
  };
}

function lateName(source: string): string {
  return source
    .replace(/^src\//, '')
    .replace(/\.ts$/, '')
    .replaceAll('/', '-');
}

/**
 * A thread is a file `<subject>-worker.ts`, and whoever starts it looks for it beside himself, as `.ts` or as `.js`.
 * In the bundle all files lie in one folder, so the names alone must be unique.
 */
function workers(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const path of globSync('src/**/*-worker.ts', { exclude: ['**/node_modules/**'] }).sort()) {
    const name = basename(path, '.ts');
    if (found[name]) throw new Error(`${path} and ${found[name]} would overwrite each other: rename one.`);
    found[name] = path;
  }
  return found;
}
