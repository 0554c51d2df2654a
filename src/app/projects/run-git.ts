/**
 * Runs git in a folder whose content may come from someone else. The settings and attributes of a repository
 * can name programs, and git runs these programs even in commands that only read. This file prevents that.
 * All calls of git in this program go through this file.
 */

import { bun } from '../../base/bun.ts';

/** Settings for every command. They are passed with -c, which overrides the settings of the repository. */
const ALWAYS = [
  // If this were set, git would run the named program to find changed files.
  'core.fsmonitor=false',
  // Makes git ignore a folder that looks like a bare repository. A clone may contain such a folder.
  'safe.bareRepository=explicit',
  'core.quotepath=off',
];

/** Settings for all commands except commits that the user requested. */
const READING = [
  'core.hooksPath=/dev/null',
  // With true, `git log` would run the program that `gpg.program` names.
  'log.showSignature=false',
  // The value "remerge" would merge again and run the repository's merge drivers.
  'log.diffMerges=separate',
];

const READING_ENV = {
  // Prevents git status from writing the index, which would run a hook.
  GIT_OPTIONAL_LOCKS: '0',
  // Keeps git from fetching missing objects in a partial clone. For a fetch, git runs ssh, proxy, credential
  // or upload-pack programs, and the repository's settings can name them.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
};

/** Commands that read no files of the work tree. They run no filters, so no filters need to be disabled. */
const WITHOUT_FILES = 'cat-file config init log merge-base merge-file remote rev-parse'.split(' ');

/** Maximum output of git in bytes. Several of the largest project files fit into it. */
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** Default timeout of git in ms. It is long enough for a large repository. */
const GIT_MS = 5_000;

export interface GitOptions {
  readonly timeoutMs?: number;
  readonly input?: string;
  /**
   * True for a commit that the user requested. Then the hooks, filters and signatures of the repository
   * apply, as if the user had typed the git command.
   */
  readonly asUser?: boolean;
}

/** Runs git and returns its output. Throws an error with the last line of stderr if git fails. */
export async function runGit(folder: string, args: readonly string[], o: GitOptions = {}): Promise<Buffer> {
  const settings = [...ALWAYS, ...(o.asUser ? [] : READING)];
  if (!o.asUser && !WITHOUT_FILES.includes(args[0]!)) settings.push(...(await filtersOff(folder, o)));
  return start(folder, settings, args, o);
}

/**
 * Returns settings that disable all filters. git runs a clean filter for each changed file that it compares,
 * and any settings file that the repository includes may define one. The user's own filters are disabled too,
 * because the repository's attributes decide which of them run.
 */
async function filtersOff(folder: string, o: GitOptions): Promise<string[]> {
  const asked = start(folder, ALWAYS, ['config', '--name-only', '-z', '--get-regexp', '^filter\\.'], o);
  const keys = String(await asked.catch(none)).split('\0');
  const names = new Set(keys.flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []));
  return [...names].flatMap((name) => {
    // -c cannot set a filter with "=" in its name. It is better to fail than to return a result that this
    // filter influenced.
    if (name.includes('=')) throw new Error(`the git filter "${name}" of this repository cannot be disabled`);
    return ['clean=', 'smudge=', 'process=', 'required=false'].map((part) => `filter.${name}.${part}`);
  });
}

/**
 * Handles an error of `git config`. Exit code 1 means that no setting matches, so returns an empty text.
 * Throws any other error.
 */
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
  { timeoutMs = GIT_MS, input, asUser }: GitOptions,
): Promise<Buffer> {
  // Leave out variables that git sets for its hooks, because they may name another repository.
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...inherited } = process.env;
  const env = { ...inherited, LC_ALL: 'C', ...(asUser ? {} : READING_ENV) };
  const given = settings.flatMap((setting) => ['-c', setting]);
  const words = ['-C', folder, '--no-pager', ...given, ...args];
  const begin = bun && !asUser ? startOnBun : startOnNode;
  return begin(words, { timeoutMs, input, env });
}

interface StartOptions extends Pick<GitOptions, 'input'> {
  readonly timeoutMs: number;
  readonly env: NodeJS.ProcessEnv;
}

async function startOnNode(
  words: readonly string[],
  { timeoutMs, input, env }: StartOptions,
): Promise<Buffer> {
  // Load this module only here, because not every hook and command needs git.
  const { execFile } = await import('node:child_process');
  const o = {
    timeout: timeoutMs,
    maxBuffer: OUTPUT_BYTES,
    windowsHide: true,
    encoding: 'buffer' as const,
    env,
  };
  return new Promise((resolve, reject) => {
    const child = execFile('git', words, o, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new GitError(String(stderr).trim().split('\n').at(-1) || error.message, error.code));
    });
    // Ignore the error: git may exit before it has read all input.
    if (input !== undefined) child.stdin!.on('error', () => {}).end(input);
  });
}

/**
 * Like `startOnNode`, for commands that start no other program. On Bun, loading `node:child_process` takes longer
 * than most of these commands run.
 */
async function startOnBun(
  words: readonly string[],
  { timeoutMs, input, env }: StartOptions,
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
    child = bun!.spawn(['git', ...words], o);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new GitError(`git cannot be started: ${code}`, code);
  }
  const [status, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.bytes(),
    child.stderr.text(),
  ]);
  if (status === 0) return Buffer.from(stdout.buffer, stdout.byteOffset, stdout.byteLength);
  throw new GitError(stderr.trim().split('\n').at(-1) || `git ended with exit code ${status}`, status);
}
