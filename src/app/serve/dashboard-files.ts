import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import type { DashboardFile, DashboardFiles } from '../../interfaces/http/dashboard.ts';
import { ownPackage } from '../own-package.ts';

const TYPES: { readonly [ending: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** What the pages are made from; a change in any of it makes a build old. */
const SOURCES = [
  'ui',
  'scripts/build/dashboard.ts',
  'src/sdk',
  'src/contract',
  'src/base',
  'src/formats',
  'src/text',
];

/**
 * The pages of this very program: of the package those that came with it; of a clone that runs its sources, built when they
 * are first asked for and when they have changed since. Undefined where there are none and no way to make them.
 */
export function ownDashboard(): DashboardFiles | undefined {
  const folder = ownPackage()?.folder;
  if (folder === undefined) return undefined;
  const runsSources = import.meta.filename.startsWith(join(folder, 'src') + sep);
  if (!runsSources) return filesIn(join(folder, 'dist', 'ui'));
  const target = join(folder, 'node_modules', '.cache', 'ui');
  let building: Promise<DashboardFiles> | null = null;
  return {
    async read(path, encodings) {
      building ??= build(folder, target).then(() => filesIn(target));
      // Who asks next tries again.
      building.catch(() => {
        building = null;
      });
      return (await building).read(path, encodings);
    },
  };
}

/** The files of a build. They are read once: all of them are smaller than one payload. */
export function filesIn(folder: string): DashboardFiles {
  const known = new Map<string, Promise<DashboardFile | null>>();
  const once = (path: string, encoding: DashboardFile['encoding']) => {
    const name = encoding ? `${path}.${encoding}` : path;
    let found = known.get(name);
    if (!found) {
      found = fileAt(join(folder, name), path, encoding);
      known.set(name, found);
    }
    return found;
  };
  return {
    async read(path, encodings) {
      if (!/^[\w-]+(?:[./][\w-]+)*$/.test(path) || !Object.hasOwn(TYPES, extname(path))) return null;
      if (known.size > MOST_NAMES) known.clear();
      const packed = /\bbr\b/.test(encodings) ? await once(path, 'br') : null;
      return packed ?? once(path, null);
    },
  };
}

/** Names that are not there are remembered too, up to so many. */
const MOST_NAMES = 1_000;

async function fileAt(
  place: string,
  path: string,
  encoding: DashboardFile['encoding'],
): Promise<DashboardFile | null> {
  try {
    const body = await readFile(place);
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 32);
    return { body, type: TYPES[extname(path)]!, encoding, hash };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Builds beside the old one and puts it in its place, unless that is younger than its sources. */
async function build(folder: string, target: string): Promise<void> {
  const made = statSync(join(target, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (SOURCES.every((path) => newest(join(folder, path)) <= made)) return;
  const fresh = `${target}-${process.pid}`;
  try {
    await run([join(folder, 'scripts', 'build', 'dashboard.ts'), fresh], folder);
    await rm(target, { recursive: true, force: true });
    await rename(fresh, target);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

function run(args: readonly string[], cwd: string): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    child.once('error', fail);
    child.once('close', (code) =>
      code === 0 ? done() : fail(new Error(`The dashboard could not be built: ${said.slice(-2_000)}`)),
    );
  });
}

function newest(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat?.mtimeMs ?? 0;
  return readdirSync(path)
    .filter((name) => !name.endsWith('.test.ts'))
    .reduce((latest, name) => Math.max(latest, newest(join(path, name))), 0);
}
