import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * A platform for which `bun build --compile` can build, and the npm package with Bun's runtime for that
 * platform.
 */
export interface Platform {
  /** Name of the platform in the file names of our archives. */
  readonly name: string;
  /**
   * Platform in Node's terms: `process.platform`, `-` and `process.arch`. A Linux without glibc has `-musl`
   * at the end.
   */
  readonly node: string;
  readonly target: string;
  readonly npm: string;
}

export const PLATFORMS: readonly Platform[] = [
  { name: 'linux-x64', node: 'linux-x64', target: 'bun-linux-x64', npm: '@oven/bun-linux-x64' },
  { name: 'linux-arm64', node: 'linux-arm64', target: 'bun-linux-arm64', npm: '@oven/bun-linux-aarch64' },
  {
    name: 'linux-x64-musl',
    node: 'linux-x64-musl',
    target: 'bun-linux-x64-musl',
    npm: '@oven/bun-linux-x64-musl',
  },
  {
    name: 'linux-arm64-musl',
    node: 'linux-arm64-musl',
    target: 'bun-linux-arm64-musl',
    npm: '@oven/bun-linux-aarch64-musl',
  },
  { name: 'macos-x64', node: 'darwin-x64', target: 'bun-darwin-x64', npm: '@oven/bun-darwin-x64' },
  { name: 'macos-arm64', node: 'darwin-arm64', target: 'bun-darwin-arm64', npm: '@oven/bun-darwin-aarch64' },
  { name: 'windows-x64', node: 'win32-x64', target: 'bun-windows-x64', npm: '@oven/bun-windows-x64' },
];

/** Returns whether this machine can run executables of the platform. */
export const isOwn = ({ node }: Platform) =>
  node === `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`;

function isMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime === undefined;
}

/**
 * Files that the executable contains, under the same paths as in the package. `npm run build` makes the files
 * in dist.
 */
export const ASSETS = [
  'package.json',
  'dist/cli/o200k.br',
  'dist/ui/**/*',
  'skill/**/*',
  'schemas/*',
  'docs/*.md',
  'docs/integrations/*.md',
  'SECURITY.md',
  'dist/THIRD-PARTY-NOTICES',
  'LICENSE',
];

/**
 * Returns the path of the Bun program that npm installed for this machine, or null. Bun's install script may
 * have moved the program from the package of the platform to `node_modules/bun`.
 */
export function findBun(): string | null {
  const ownPlatform = PLATFORMS.find(isOwn);
  const name = process.platform === 'win32' ? 'bun.exe' : 'bun';
  const places = [
    'node_modules/bun/bin/bun.exe',
    ...(ownPlatform ? [`node_modules/${ownPlatform.npm}/bin/${name}`] : []),
  ];
  return (
    places.map((place) => resolve(place)).find((place) => existsSync(place) && statSync(place).size > 1e6) ??
    null
  );
}

/**
 * Returns the path of Bun's runtime for a platform. For this machine's platform it is the installed Bun, if
 * there is one. Otherwise it is the runtime that deploy/executable pins, which is downloaded at first use.
 */
export function runtimeOf(platform: Platform): string {
  const ownBun = isOwn(platform) ? findBun() : null;
  if (ownBun) return ownBun;
  const folder = join('deploy', 'executable');
  const name = platform.node.startsWith('win32') ? 'bun.exe' : 'bun';
  const runtime = resolve(folder, 'node_modules', platform.npm, 'bin', name);
  // `--force` makes npm install packages for other platforms too.
  if (!existsSync(runtime)) {
    const ran = spawnSync('npm', ['ci', '--force', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (ran.status !== 0) throw new Error(`npm ci in ${folder} ended with ${ran.status}:\n${ran.stderr}`);
  }
  return runtime;
}

export interface ExecutableOptions {
  readonly platform?: Platform;
  /** Path of Bun's runtime for the platform. Default: the Bun of this machine. */
  readonly runtime?: string;
}

/**
 * Compiles the program, its worker threads and its files into one executable. The file is renamed to `output`
 * when it is complete. Nothing is downloaded. The executable ignores `.env`, `bunfig.toml`, `package.json`
 * and `tsconfig.json` in the folder in which it is started.
 */
export function compileExecutable(output: string, { platform, runtime }: ExecutableOptions = {}): void {
  const bun = findBun();
  if (!bun)
    throw new Error('Bun is not installed. Run `npm run setup`; on this platform npm may have no Bun.');
  const began = new Date();
  const work = join(dirname(output), `.work-${process.pid}-${platform?.name ?? 'own'}`);
  mkdirSync(work, { recursive: true });
  try {
    const draft = join(work, basename(output));
    const args = [
      ...['build', '--compile', '--bytecode', '--format=esm', '--splitting'],
      // Short names make a command start faster. With the source map, stack traces name files and lines of the sources.
      ...['--minify', '--sourcemap=inline'],
      // Use fewer and larger modules, so that a command starts faster.
      '--min-chunk-size=16384',
      // Compile functions to machine code later than Bun does by default, because most commands end before it pays off.
      // `runMain` restores the default for commands that run longer.
      '--compile-jit-policy=30',
      ...['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig'],
      ...['--no-compile-autoload-package-json', '--no-compile-autoload-tsconfig'],
      '--entry-naming=[name].[ext]',
      ...(platform ? [`--target=${platform.target}`] : []),
      ...(runtime ? [`--compile-executable-path=${runtime}`] : []),
      ...stageAssets(join(work, 'assets')).map((path) => `--asset=${path}`),
      `--outfile=${draft}`,
      'bin/relay.ts',
      ...globSync('src/**/*-worker.ts', { exclude: ['**/node_modules/**'] }).sort(),
    ];
    const ran = spawnSync(bun, args, { encoding: 'utf8' });
    if (ran.error) throw new Error(`Cannot run ${bun}: ${ran.error.message}`);
    if (ran.status !== 0)
      throw new Error(`bun build ended with ${ran.status}:\n${ran.stdout}\n${ran.stderr}`);
    // `./relay` compares the mtimes of the executable and the sources. Set the mtime to the time at which the build
    // began. Then a source that was saved during the build counts as newer.
    utimesSync(draft, began, began);
    renameSync(draft, output);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Copies the assets into a folder and returns the paths of the folder's entries. Bun embeds the files of a folder
 * with their paths, but a single file only with its name.
 */
function stageAssets(folder: string): string[] {
  for (const path of globSync(ASSETS)) {
    if (!statSync(path).isFile() || path.endsWith('.pyc')) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(path, join(folder, path));
  }
  return readdirSync(folder).map((name) => join(folder, name));
}
