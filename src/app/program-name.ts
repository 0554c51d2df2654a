import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Environment } from './config.ts';
import { findLauncher, shellLine } from './install/launcher.ts';

/**
 * How this program is called, as it is typed in a shell: `here`, in this folder, or from anywhere on this machine. RELAY_COMMAND says
 * it where the one who started us knows better.
 */
export function programName(env: Environment, where: 'here' | 'anywhere', cwd = process.cwd()): string {
  const named = env.RELAY_COMMAND;
  const relative = named?.startsWith('.') ?? false;
  if (named && (relative ? where === 'here' && existsSync(resolve(cwd, named)) : true)) return named;
  return shellLine(findLauncher(env, where), []);
}
