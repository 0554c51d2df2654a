import { execFile } from 'node:child_process';

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompressSync } from 'node:zlib';
import { sha256 } from '../../engines/body-hashes.ts';
import { type DashboardFiles, typeOfFile } from '../../interfaces/http/dashboard.ts';
import { isExecutable, ownFile, ownPackage } from '../own-package.ts';

/** Sources of the dashboard. Changing one of them makes a build outdated. */
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
 * Returns the files of the dashboard. A package contains them; a clone builds them at first use and after a
 * change.
 */
export function ownDashboard(): DashboardFiles | undefined {
  const folder = isExecutable ? undefined : ownPackage()?.folder;
  const runsSources = folder !== undefined && import.meta.filename.startsWith(join(folder, 'src') + sep);
  if (!runsSources) return filesFrom((name) => ownFile(`dist/ui/${name}`));
  const target = join(folder, 'node_modules', '.cache', 'ui');
  let building: Promise<DashboardFiles> | null = null;
  return {
    async read(path, encodings) {
      building ??= build(folder, target).then(() => filesIn(target));
      // After a failed build, the next request builds again.
      building.catch(() => {
        building = null;
      });
      return (await building).read(path, encodings);
    },
  };
}

export function filesIn(folder: string): DashboardFiles & { readonly folder: string } {
  const files = filesFrom((name) => {
    const place = join(folder, name);
    return existsSync(place) ? readFileSync(place) : null;
  });
  return { folder, ...files };
}

/** Serves the files of a build. Decompresses them for clients that do not accept Brotli. */
function filesFrom(read: (name: string) => Uint8Array | null): DashboardFiles {
  return {
    async read(path, encodings) {
      const type = typeOfFile(path);
      if (type === null) return null;
      const packed = read(`${path}.br`);
      if (packed && /\bbr\b/.test(encodings))
        return { body: packed, type, encoding: 'br', hash: sha256(packed).slice(0, 32) };
      const body = read(path) ?? (packed && brotliDecompressSync(packed));
      return body && { body, type, encoding: null, hash: sha256(body).slice(0, 32) };
    },
  };
}

/**
 * Builds the dashboard into a new folder, which replaces the old build, unless the old build is up to date.
 */
async function build(folder: string, target: string): Promise<void> {
  const builtAt = statSync(join(target, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (SOURCES.every((path) => newest(join(folder, path)) <= builtAt)) return;
  const fresh = `${target}-${process.pid}`;
  try {
    const script = join(folder, 'scripts', 'build', 'dashboard.ts');
    await promisify(execFile)(process.execPath, [script, fresh], { cwd: folder });
    await rm(target, { recursive: true, force: true });
    await rename(fresh, target);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

function newest(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat?.mtimeMs ?? 0;
  return readdirSync(path)
    .filter((name) => !name.endsWith('.test.ts'))
    .reduce((latest, name) => Math.max(latest, newest(join(path, name))), 0);
}
