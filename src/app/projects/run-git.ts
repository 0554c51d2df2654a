/**
 * Runs git in a folder that somebody else may have filled. A repository's own settings and attributes can name programs, and git runs them
 * in commands that only read: each of those ways is closed here. Every call of git in this program goes through this file.
 */

/** For every command. A value given with -c wins over that of the repository. */
const ALWAYS = [
  // Names a program that git asks which files have changed.
  'core.fsmonitor=false',
  // A folder that has the layout of a bare repository, as a clone may bring one, is no repository.
  'safe.bareRepository=explicit',
  'core.quotepath=off',
];

/** For everything but the user's own commits. */
const READING = [
  'core.hooksPath=/dev/null',
  // Runs gpg.program.
  'log.showSignature=false',
  // "remerge" would merge again, with the merge drivers of the repository.
  'log.diffMerges=separate',
];

const READING_ENV = {
  // Without the lock, git status does not write the index, and so runs no hook.
  GIT_OPTIONAL_LOCKS: '0',
  // A partial clone would fetch what it lacks, by an ssh, proxy, credential or upload-pack program that its settings name.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
};

/** Commands that look at no file of the work tree, so that no filter of the repository applies. */
const WITHOUT_FILES = 'cat-file config init log merge-base merge-file remote rev-parse'.split(' ');

/** Enough for the largest project files, several at once. */
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** How long git may take by default: enough for a large repository. */
const GIT_MS = 5_000;

export interface GitOptions {
  readonly timeoutMs?: number;
  readonly input?: string;
  /** A commit that the user asked for: with the hooks, filters and signatures of the repository, as if they had typed it. */
  readonly asUser?: boolean;
}

/** Rejects with the last line that git wrote to stderr. */
export async function runGit(folder: string, args: readonly string[], o: GitOptions = {}): Promise<Buffer> {
  const settings = [...ALWAYS, ...(o.asUser ? [] : READING)];
  if (!o.asUser && !WITHOUT_FILES.includes(args[0]!)) settings.push(...(await filtersOff(folder, o)));
  return start(folder, settings, args, o);
}

/**
 * A clean filter runs for each changed file that git compares, and any settings file that the repository includes may define one. Filters
 * of the user's own settings are switched off as well: which one applies is said by the attributes of the repository.
 */
async function filtersOff(folder: string, o: GitOptions): Promise<string[]> {
  const asked = start(folder, ALWAYS, ['config', '--name-only', '-z', '--get-regexp', '^filter\\.'], o);
  const keys = String(await asked.catch(none)).split('\0');
  const names = new Set(keys.flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []));
  return [...names].flatMap((name) => {
    // Between -c and its value there can be no such name: better no answer than one that this filter had a part in.
    if (name.includes('=')) throw new Error(`the filter "${name}" of this repository cannot be switched off`);
    return ['clean=', 'smudge=', 'process=', 'required=false'].map((part) => `filter.${name}.${part}`);
  });
}

/** `git config` ends with 1 where nothing matches. */
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
  // Loaded only where git is asked: not every hook and command does.
  const { execFile } = await import('node:child_process');
  // When run from a git hook, these variables would name another repository than that of the folder.
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env;
  const o = {
    timeout: timeoutMs,
    maxBuffer: OUTPUT_BYTES,
    windowsHide: true,
    encoding: 'buffer' as const,
    env: { ...env, LC_ALL: 'C', ...(asUser ? {} : READING_ENV) },
  };
  const given = settings.flatMap((setting) => ['-c', setting]);
  return new Promise((resolve, reject) => {
    const words = ['-C', folder, '--no-pager', ...given, ...args];
    const child = execFile('git', words, o, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new GitError(String(stderr).trim().split('\n').at(-1) || error.message, error.code));
    });
    // git may end without having read all of it.
    if (input !== undefined) child.stdin!.on('error', () => {}).end(input);
  });
}
