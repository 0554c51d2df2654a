import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Kind, Output } from '../corpus.ts';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The home folder that outputs show instead of the real one. */
const HOME = join('/', 'home', 'dev');

/** Describes how one output is made. */
export interface Recipe {
  readonly name: string;
  readonly kind: Kind;
  /** The command as a reader would type it. */
  readonly displayCommand: string;
  /** The shell command that runs, if it differs from `displayCommand`. */
  readonly command?: string;
  /** Files of the program, by path. If absent, the command runs in this repository. */
  readonly files?: Readonly<Record<string, string>>;
  /** Shell command that prepares the folder. Its output is discarded. */
  readonly before?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Replacements for texts that differ in every run, such as dates. */
  readonly replace?: readonly (readonly [RegExp, string])[];
}

/** Folder with programs that the recipes need and that are not on the PATH (see README.md). */
export const TOOLS = process.env.BENCH_TOOLS ?? '';

export function make(recipe: Recipe): Output {
  const { name, kind, displayCommand } = recipe;
  const folder = recipe.files ? realpathSync(mkdtempSync(join(tmpdir(), 'shop-'))) : ROOT;
  for (const [path, text] of Object.entries(recipe.files ?? {})) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const env = {
    ...process.env,
    PATH: `${join(ROOT, 'node_modules', '.bin')}:${TOOLS}/js/node_modules/.bin:${TOOLS}/py/bin:${process.env.PATH}`,
    NODE_PATH: `${TOOLS}/js/node_modules`,
    NO_COLOR: recipe.env?.FORCE_COLOR ? undefined : '1',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
    ...recipe.env,
  };
  const run = (command: string) =>
    spawnSync('bash', ['-c', `exec 2>&1\n${command}`], {
      cwd: folder,
      env,
      maxBuffer: 2 ** 28,
      timeout: 240_000,
    });
  if (recipe.before) {
    const { status, stdout } = run(recipe.before);
    if (status !== 0) throw new Error(`${name}: ${recipe.before} ended with ${status}\n${stdout}`);
  }
  const { stdout, error } = run(recipe.command ?? displayCommand);
  if (error) throw error;
  let text = withoutMachine(stdout.toString('utf8'), folder);
  for (const [pattern, by] of recipe.replace ?? []) text = text.replace(pattern, by);
  return { name, kind, command: displayCommand, text };
}

/** Replaces paths and the host name of this machine. `replace` of a recipe replaces dates and users. */
function withoutMachine(text: string, folder: string): string {
  const { homedir } = userInfo();
  const paths = [
    [folder, `${HOME}/shop`],
    [folder.replaceAll('/', '%2F'), `${HOME}/shop`.replaceAll('/', '%2F')],
    [realpathSync(ROOT), `${HOME}/contextrelay`],
    [`../${basename(TOOLS)}/js/node_modules`, 'node_modules'],
    [TOOLS, `${HOME}/.tools`],
    [homedir, HOME],
    [realpathSync(tmpdir()), '/var/tmp'],
  ] as const;
  for (const [path, by] of paths) if (path.length > 1) text = text.replaceAll(path, by);
  return text.replaceAll(hostname(), 'build-7');
}
