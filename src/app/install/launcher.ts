import { existsSync } from 'node:fs';
import { delimiter, dirname, join, resolve, sep } from 'node:path';
import { EXIT_REWAKE } from '../../base/errors.ts';
import { ON_NPM } from '../../base/installing.ts';
import { findProgram } from '../../runners/find-program.ts';
import type { Environment } from '../config.ts';
import { isExecutable, ownPackage, realPath } from '../own-package.ts';

/** Command with which a settings file calls this program. */
export interface Launcher {
  readonly command: string;
  readonly args: readonly string[];
  /**
   * True if the command contains no path of this machine, so that it works for everyone who has the program.
   */
  readonly portable: boolean;
}

/**
 * Returns the command with which settings call this program. It is the first of these that applies:
 *
 *   relay                     if our program is on the PATH
 *   npx -y                    if npx runs this program; this command may download our package
 *   npx --no-install          if `where` is `here` and the project depends on our package
 *   the path of this program  otherwise; the path is valid only on this machine
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

/**
 * Returns the path of the script `relay` in the clone that built this executable, or null. Settings name the
 * script, because the executable is in a cache and may be deleted.
 */
function cloneScript(): string | null {
  const [, clone] = /^(.*)[/\\]node_modules[/\\]\.cache[/\\]executable[/\\]/.exec(process.execPath) ?? [];
  const script = clone === undefined ? null : join(clone, 'relay');
  return script !== null && existsSync(script) ? script : null;
}

/**
 * Returns the PATH without the folders that npm adds when it runs this program, for example with npx or in a
 * script.
 */
function ownPath(env: Environment): string {
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter);
  const userFolders = env.npm_command
    ? folders.filter((at) => !/[/\\]node_modules[/\\]\.bin$/.test(at))
    : folders;
  return userFolders.join(delimiter);
}

/**
 * Returns whether a file is our program. npm puts a link to our file on the PATH or, on Windows, a script
 * into the folder with node_modules.
 */
export function isOurProgram(file: string): boolean {
  return (
    (isExecutable && realPath(file) === process.execPath) ||
    ownPackage(file) !== null ||
    existsSync(join(dirname(file), 'node_modules', 'contextrelay', 'package.json'))
  );
}

/**
 * Ends of hook lines. `FAILS_OPEN` makes a failed hook count as success. `WAKES`, for the hook `wait`, exits
 * with 2 if messages arrived: the client then wakes the session and shows it the text on stderr.
 */
const FAILS_OPEN = ' 2>/dev/null || exit 0';
const WAKES = ` >&2 2>/dev/null || exit $(($? == ${EXIT_REWAKE} ? 2 : 0))`;
export const HOOK_ENDS = [FAILS_OPEN, WAKES];

/**
 * Returns the command line of a hook. If the program is missing, the line prints nothing and exits with 0, because
 * Gemini CLI treats output with another exit code as a refusal. The line unsets BUN_BE_BUN, which would turn our
 * executable into Bun itself. On Windows the line is only the bare command: cmd.exe and PowerShell share no syntax
 * for the rest.
 */
export function hookLine(
  launcher: Pick<Launcher, 'command' | 'args'>,
  args: readonly string[],
  platform: NodeJS.Platform,
): string {
  const line = shellLine(launcher, args);
  const end = args.at(-1) === 'wait' ? WAKES : FAILS_OPEN;
  return platform === 'win32' ? line : `unset BUN_BE_BUN; ${line}${end}`;
}

/**
 * Joins words to a shell command line. Words with special characters get double quotes, which POSIX shells
 * and cmd.exe both accept.
 */
export function shellLine(launcher: Pick<Launcher, 'command' | 'args'>, args: readonly string[]): string {
  const special = process.platform === 'win32' ? /["]/g : /["$`\\]/g;
  return [launcher.command, ...launcher.args, ...args]
    .map((word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `"${word.replace(special, '\\$&')}"`))
    .join(' ');
}

/**
 * Returns the command that calls this program in a shell: in this folder (`here`) or anywhere on this
 * machine. RELAY_COMMAND overrides it.
 */
export function programName(env: Environment, where: 'here' | 'anywhere', cwd = process.cwd()): string {
  const named = env.RELAY_COMMAND;
  const relative = named?.startsWith('.') ?? false;
  if (named && (relative ? where === 'here' && existsSync(resolve(cwd, named)) : true)) return named;
  return shellLine(findLauncher(env, where), []);
}
