/**
 * Runs git in a folder whose content may come from someone else. The settings and attributes of a repository
 * can name programs that git runs even in commands that only read. This file prevents that, so all calls of
 * git go through it.
 */

import { bun } from '../../base/bun.ts';

/** Settings for every command, passed with -c, which overrides the settings of the repository. */
const ALWAYS = [
  // A repository could name a program here that git runs to find changed files.
  'core.fsmonitor=false',
  // Makes git ignore a folder that looks like a bare repository. A clone may contain such a folder.
  'safe.bareRepository=explicit',
  'core.quotepath=off',
];

/** Settings for all commands without `asUser`. */
const READING = [
  'core.hooksPath=/dev/null',
  // With true, `git log` runs the program in `gpg.program`.
  'log.showSignature=false',
  // With "remerge", git merges again and runs the repository's merge drivers.
  'log.diffMerges=separate',
];

const READING_ENV = {
  // Keeps git status from writing the index, which would run a hook.
  GIT_OPTIONAL_LOCKS: '0',
  // Keeps git from fetching missing objects of a partial clone. A fetch runs ssh, proxy, credential or
  // upload-pack programs, which the repository's settings can name.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
};

/** Commands that do not read the work tree. They run no filters. */
const WITHOUT_FILES = 'cat-file config init log merge-base merge-file remote rev-parse'.split(' ');

/** Maximum output of git in bytes: several project files of maximum size. */
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** Default timeout of git in ms, long enough for a large repository. */
const GIT_MS = 5_000;

export interface GitOptions {
  readonly timeoutMs?: number;
  readonly input?: string;
  /**
   * True for `git add` and `git commit` on behalf of the user. The repository's hooks, filters and signatures then
   * apply, as if the user had typed the command.
   */
  readonly asUser?: boolean;
  /**
   * Called when the process of this command has started. For some commands, git first runs in another process to
   * read settings.
   */
  readonly started?: () => void;
}

/** Runs git and returns its output. If git fails, throws an error with the last line of stderr. */
export async function runGit(folder: string, args: readonly string[], o: GitOptions = {}): Promise<Buffer> {
  const settings = [...ALWAYS, ...(o.asUser ? [] : READING)];
  if (!o.asUser && !WITHOUT_FILES.includes(args[0]!)) settings.push(...(await filtersOff(folder, o)));
  return start(folder, settings, args, o);
}

/**
 * Returns settings that disable all filters. git runs a clean filter for each changed file that it compares,
 * and any settings file of the repository may define one. The user's own filters are disabled too, because
 * the repository's attributes choose among them.
 */
async function filtersOff(folder: string, o: GitOptions): Promise<string[]> {
  const configRead = start(folder, ALWAYS, ['config', '--name-only', '-z', '--get-regexp', '^filter\\.'], {
    ...o,
    started: undefined,
  });
  const keys = String(await configRead.catch(none)).split('\0');
  const names = new Set(keys.flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []));
  return [...names].flatMap((name) => {
    // -c cannot disable a filter with "=" in its name. Failing is better than a result that such a filter
    // influenced.
    if (name.includes('=')) throw new Error(`the git filter "${name}" of this repository cannot be disabled`);
    return ['clean=', 'smudge=', 'process=', 'required=false'].map((part) => `filter.${name}.${part}`);
  });
}

/** Returns an empty text for exit code 1 of `git config`: no setting matches. Throws any other error. */
function none(error: GitError): string {
  if (error.status === 1) return '';
  throw error;
}

class GitError extends Error {
  readonly status: unknown;

  constructor(message: string, status: unknown) {
    super(message);
    this.status = status;
  }
}

async function start(
  folder: string,
  settings: readonly string[],
  args: readonly string[],
  { timeoutMs = GIT_MS, input, asUser, started }: GitOptions,
): Promise<Buffer> {
  // Omit variables that git sets for hooks, because they may name another repository.
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...inherited } = process.env;
  const env = { ...inherited, LC_ALL: 'C', ...(asUser ? {} : READING_ENV) };
  const settingArgs = settings.flatMap((setting) => ['-c', setting]);
  const argv = ['-C', folder, '--no-pager', ...settingArgs, ...args];
  const begin = bun && !asUser ? startOnBun : startOnNode;
  return begin(argv, { timeoutMs, input, env, started });
}

interface StartOptions extends Pick<GitOptions, 'input' | 'started'> {
  readonly timeoutMs: number;
  readonly env: NodeJS.ProcessEnv;
}

async function startOnNode(
  argv: readonly string[],
  { timeoutMs, input, env, started }: StartOptions,
): Promise<Buffer> {
  // Load the module only here: not every hook and command needs git.
  const { execFile } = await import('node:child_process');
  const o = {
    timeout: timeoutMs,
    maxBuffer: OUTPUT_BYTES,
    windowsHide: true,
    encoding: 'buffer' as const,
    env,
  };
  return new Promise((resolve, reject) => {
    const child = execFile('git', argv, o, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new GitError(String(stderr).trim().split('\n').at(-1) || error.message, error.code));
    });
    started?.();
    // Ignore the error: git may exit before it has read all input.
    if (input !== undefined) child.stdin!.on('error', () => {}).end(input);
  });
}

/**
 * Like `startOnNode`, but without `node:child_process`: on Bun, loading this module takes longer than most git
 * commands run.
 */
async function startOnBun(
  argv: readonly string[],
  { timeoutMs, input, env, started }: StartOptions,
): Promise<Buffer> {
  const o = {
    timeout: timeoutMs,
    maxBuffer: OUTPUT_BYTES,
    windowsHide: true,
    env,
    stdin: input === undefined ? 'ignore' : Buffer.from(input),
    stdout: 'pipe',
    stderr: 'pipe',
  } as const;
  let child: ReturnType<NonNullable<typeof bun>['spawn']>;
  try {
    child = bun!.spawn(['git', ...argv], o);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new GitError(`git cannot be started: ${code}`, code);
  }
  started?.();
  const [status, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.bytes(),
    child.stderr.text(),
  ]);
  if (status === 0) return Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength);
  throw new GitError(stderr.trim().split('\n').at(-1) || `git ended with exit code ${status}`, status);
}
