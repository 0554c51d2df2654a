import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, relative, resolve } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';

/**
 * What agents call all day. These start from one file, because every further one costs a millisecond or more. `parts` is
 * what its commands always need, though the sources load it late for the sake of the others. With `event` the file is for
 * the hook of that name: it reads the store, and the other hooks read the project's files.
 */
const HOT_FILES: { readonly [file: string]: HotFile } = {
  hot: {
    commands: ['peek', 'pull', 'push', 'rm'],
    parts: ['src/app/open-relay.ts', 'src/engines/sqlite/engine.ts'],
  },
  hook: { commands: ['hook'], parts: ['src/app/open-project.ts', 'src/base/sanitize/neutralise.ts'] },
  'inbox-hook': {
    commands: ['hook'],
    event: 'prompt-submit',
    parts: ['src/app/peek-inbox.ts', 'src/app/open-house.ts', 'src/engines/sqlite/engine.ts'],
  },
  mcp: { commands: ['mcp'], parts: [] },
};

interface HotFile {
  readonly commands: readonly string[];
  readonly event?: string;
  readonly parts: readonly string[];
}

/** Loaded late, but then from one file: bundled by itself, it leaves out the parts of libraries that nobody uses. */
const WHOLE = ['src/app/mcp-stdio.ts'];

/** What the SDK loads in Node and nowhere else: `contextrelay/runners`. */
const RUNNERS = 'src/app/node-runners.ts';

export interface BundledCli {
  /** What went into it. */
  readonly metafile: Metafile;
  /** Command, with its event where it has one → the script it starts from. */
  readonly hot: { readonly [command: string]: string };
  /** What a script loads late → the script that it is. */
  readonly late: { readonly [path: string]: string };
}

/**
 * Bundles the command line into `outdir`: a script for each group of commands above, `main.js` for all, a chunk for each
 * part that is loaded only when needed, and the worker threads.
 */
export async function bundleCli(outdir: string): Promise<BundledCli> {
  const hot: Record<string, string> = {};
  const lateScripts: Record<string, string> = {};
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
  const built: Metafile[] = [];
  for (const [file, { commands, event, parts }] of Object.entries(HOT_FILES)) {
    const inside = [...commands.map((name) => `src/interfaces/cli/commands/${name}.ts`), ...parts];
    const entryPoints = { [file]: 'src/app/main.ts' };
    const plugins = [builtins, leaveLate(late, inside)];
    const name = await buildScript({ ...options, entryPoints, plugins }, built);
    for (const command of commands) hot[event ? `${command} ${event}` : command] = name;
  }
  for (const source of WHOLE) {
    const entryPoints = { [lateName(source)]: source };
    const plugins = [builtins, withoutValidator, usedSchemas, leaveLate(late, [])];
    const whole = { ...options, minify: true, entryPoints, plugins };
    built.push((await build(whole)).metafile);
    lateScripts[`./${lateName(source)}.js`] = await buildScript(whole, built);
  }
  const all = await build({
    ...options,
    entryPoints: { main: 'bin/relay.ts', 'node-runners': RUNNERS, ...workers(), ...late },
    splitting: true,
    plugins: [builtins, withoutValidator, leaveWhole],
  });
  built.push(all.metafile);
  const metafile = {
    inputs: Object.assign({}, ...built.map(({ inputs }) => inputs)),
    outputs: Object.assign({}, ...built.map(({ outputs }) => outputs)),
  };
  return { metafile, hot, late: lateScripts };
}

/** Gives the name of the script. */
async function buildScript(options: BuildOptions & { metafile: true }, built: Metafile[]): Promise<string> {
  const { metafile } = await build({ ...options, ...SCRIPT });
  built.push(metafile);
  const [path] = Object.keys(metafile.outputs) as [string];
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(LATE_IMPORT, '__import('));
  return basename(path);
}

/** As esbuild writes it. */
const LATE_IMPORT = /\bimport\((?="(?:\.\/|node:))/g;

/**
 * Run by the launcher, which keeps what the compiler made of them: by their names, so a name stands for one content. They are
 * given what only an ES module has, `import.meta.url` and `import`, and leave `runMain` behind.
 */
const SCRIPT = {
  entryNames: '[name]-[hash]',
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.url': '__url' },
} satisfies BuildOptions;

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

/**
 * The MCP library brings a JSON Schema validator of 300 KB, for servers that ask clients for input or declare what tools
 * answer. Ours does neither, and says so where it is made.
 */
const withoutValidator: Plugin = {
  name: 'without-validator',
  setup(building) {
    building.onResolve({ filter: /^@modelcontextprotocol\/server\/_shims$/ }, ({ path }) => ({
      path,
      namespace: 'without-validator',
    }));
    building.onLoad({ filter: /.*/, namespace: 'without-validator' }, () => ({
      contents: `export const process = globalThis.process;
        export class DefaultJsonSchemaValidator {
          getValidator() { throw new Error('no JSON Schema is validated here'); }
        }`,
    }));
  },
};

/**
 * The MCP library makes a schema for every type of its protocol, and keeps a register of them all for programs that want to
 * check messages by themselves. Ours does not; without the register, what no request needs can be left out, and the server
 * starts sooner. That making a schema does nothing else, esbuild has to be told.
 */
const usedSchemas: Plugin = {
  name: 'used-schemas',
  setup(building) {
    let registers = 0;
    building.onLoad({ filter: /@modelcontextprotocol.(?:core|server).dist.[^/\\]+\.mjs$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replace(REGISTERING, '').replace(SCHEMA, '$1/* @__PURE__ */ (() => $2)();');
      registers += source.split('\n').length - contents.split('\n').length;
      return { contents };
    });
    building.onEnd(() => {
      if (registers !== 2)
        throw new Error('The MCP library registers its schemas in another way than it did.');
    });
  },
};

const REGISTERING = /^for \(const .* of .*\) register\(key, .*\n/gm;
/** A whole statement: one line, or from a bracket that is opened to the first line that is not indented. */
const SCHEMA = /^(const \w+Schema(?:\$\d)? = )(.*[{[(]\n(?:\t.*\n)*[^\t\n].*|.+);$/gm;

/** Leaves what is loaded late out of the one file, notes it, and points to where the other build puts it. */
function leaveLate(late: Record<string, string>, inside: readonly string[]): Plugin {
  return leave('late', (source) => {
    if (inside.includes(source)) return false;
    if (!WHOLE.includes(source)) late[lateName(source)] = source;
    return true;
  });
}

const leaveWhole = leave('whole', (source) => WHOLE.includes(source));

function leave(name: string, isLeft: (source: string) => boolean): Plugin {
  return {
    name: `leave-${name}`,
    setup(building) {
      building.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) => {
        const source = relative('.', resolve(resolveDir, path));
        if (kind !== 'dynamic-import' || !isLeft(source)) return undefined;
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
  for (const path of globSync('src/**/*-worker.ts').sort()) {
    const name = basename(path, '.ts');
    if (found[name]) throw new Error(`${path} and ${found[name]} would overwrite each other: rename one.`);
    found[name] = path;
  }
  return found;
}
