import { existsSync } from 'node:fs';
import { delimiter, dirname, join, resolve, sep } from 'node:path';
import { ON_NPM } from '../../base/installing.ts';
import { findProgram } from '../../runners/find-program.ts';
import type { Environment } from '../config.ts';
import { isExecutable, ownPackage, realPath } from '../own-package.ts';

/** How a settings file calls this program. */
export interface Launcher {
  readonly command: string;
  readonly args: readonly string[];
  /** It names no place on this machine, so that the same line works for everybody who has the program there too. */
  readonly portable: boolean;
}

/**
 * `relay` where the PATH has ours. In the folder of a project that depends on our package, the npx that runs what is installed there and fetches
 * nothing. Otherwise this very program by its place, which holds on this machine only.
 */
export function findLauncher(
  env: Environment,
  where: 'here' | 'anywhere',
  script: string = process.argv[1] ?? '',
  folder: string = process.cwd(),
): Launcher {
  const found = findProgram('relay', { ...env, PATH: ownPath(env) });
  if (found && isOurProgram(found)) return { command: 'relay', args: [], portable: true };
  if (isExecutable) return { command: cloneScript() ?? process.execPath, args: [], portable: false };
  const own = ownPackage(script);
  const [, holder] = /^(.*)[/\\]node_modules[/\\]contextrelay$/.exec(own?.folder ?? '') ?? [];
  if (ON_NPM && holder && /[/\\]_npx[/\\]/.test(holder))
    return { command: 'npx', args: ['-y', 'contextrelay'], portable: true };
  if (where === 'here' && holder && `${realPath(folder)}${sep}`.startsWith(holder + sep))
    return { command: 'npx', args: ['--no-install', 'contextrelay'], portable: true };
  const source = own && join(own.folder, 'relay');
  if (script.endsWith('.ts') && source !== null && existsSync(source) && process.platform !== 'win32') {
    return { command: source, args: [], portable: false };
  }
  return { command: process.execPath, args: [realPath(script)], portable: false };
}

/** The script `relay` of the clone that this executable was built in: it outlives the executable, which lies in a cache. */
function cloneScript(): string | null {
  const [, clone] = /^(.*)[/\\]node_modules[/\\]\.cache[/\\]executable[/\\]/.exec(process.execPath) ?? [];
  const script = clone === undefined ? null : join(clone, 'relay');
  return script !== null && existsSync(script) ? script : null;
}

/** While npm runs us (npx, a script), it has put folders on the PATH that are gone from it afterwards. */
function ownPath(env: Environment): string {
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter);
  const kept = env.npm_command ? folders.filter((at) => !/[/\\]node_modules[/\\]\.bin$/.test(at)) : folders;
  return kept.join(delimiter);
}

/** What npm puts on the PATH is a link to our file; on Windows a small script beside the package. */
export function isOurProgram(file: string): boolean {
  return (
    (isExecutable && realPath(file) === process.execPath) ||
    ownPackage(file) !== null ||
    existsSync(join(dirname(file), 'node_modules', 'contextrelay', 'package.json'))
  );
}

/**
 * The line of a hook. Without the program it prints nothing and ends with 0, because Gemini CLI takes any other exit code with a text
 * for a refusal. BUN_BE_BUN would turn an executable that Bun compiled into Bun itself. Windows gets the plain line: cmd.exe and
 * PowerShell share no syntax for the rest.
 */
export function hookLine(
  launcher: Pick<Launcher, 'command' | 'args'>,
  words: readonly string[],
  platform: NodeJS.Platform,
): string {
  const line = shellLine(launcher, words);
  return platform === 'win32' ? line : `unset BUN_BE_BUN; ${line} 2>/dev/null || exit 0`;
}

/** One line for a shell; words that need it are in double quotes, which POSIX shells and cmd.exe both take. */
export function shellLine(launcher: Pick<Launcher, 'command' | 'args'>, words: readonly string[]): string {
  const special = process.platform === 'win32' ? /["]/g : /["$`\\]/g;
  return [launcher.command, ...launcher.args, ...words]
    .map((word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `"${word.replace(special, '\\$&')}"`))
    .join(' ');
}

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
