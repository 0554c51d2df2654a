import { accessSync, constants as fileModes, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Returns the path of a program on the PATH, or null if there is none. */
export function findProgram(name: string, env: NodeJS.ProcessEnv): string | null {
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '');
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : [''];
  const paths = folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending)));
  return paths.find(isProgram) ?? null;
}

/** Returns whether a path is an executable file. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, fileModes.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
