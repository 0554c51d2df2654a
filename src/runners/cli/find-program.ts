import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { PROFILES } from './profiles.ts';

type Variables = { readonly [name: string]: string | undefined };

/** Where a program is that would be started by this name; null where there is none. */
export function findProgram(name: string, env: Variables): string | null {
  if (/[\\/]/.test(name) || isAbsolute(name)) return isProgram(name) ? name : null;
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : [''];
  for (const folder of (env.PATH ?? env.Path ?? '').split(delimiter)) {
    if (folder === '') continue;
    for (const ending of endings) {
      const path = join(folder, name + ending);
      if (isProgram(path)) return path;
    }
  }
  return null;
}

/** Those of the known coding agents that are installed. */
export function installedClis(env: Variables): string[] {
  return Object.keys(PROFILES).filter((name) => findProgram(name, env) !== null);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
