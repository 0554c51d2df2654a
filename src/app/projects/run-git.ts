/**
 * Runs git in a folder whose content may come from someone else. A repository's settings and attributes can name
 * programs, which git runs even in commands that only read. Each of these ways is closed here. All calls of git in
 * this program go through this file.
 */

/** Settings for every command. -c overrides the repository. */
const ALWAYS = [
  // Names a program that git asks for changed files.
  'core.fsmonitor=false',
  // Ignores a folder with the layout of a bare repository, which a clone may contain.
  'safe.bareRepository=explicit',
  'core.quotepath=off',
];

/** Settings for everything but the user's own commits. */
const READING = [
  'core.hooksPath=/dev/null',
  // Would run gpg.program.
  'log.showSignature=false',
  // "remerge" would merge again, with the repository's merge drivers.
  'log.diffMerges=separate',
];

const READING_ENV = {
  // Without the lock git status does not write the index, and so runs no hook.
  GIT_OPTIONAL_LOCKS: '0',
  // A partial clone would fetch missing objects with an ssh, proxy, credential or upload-pack program from its
  // settings.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
};

/** Commands that read no file of the work tree, so that no filter of the repository runs. */
const WITHOUT_FILES = 'cat-file config init log merge-base merge-file remote rev-parse'.split(' ');

/** Enough for several of the largest project files. */
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** Default timeout of git, enough for a large repository. */
const GIT_MS = 5_000;

export interface GitOptions {
  readonly timeoutMs?: number;
  readonly input?: string;
  /**
   * For a commit that the user requested: hooks, filters and signatures of the repository apply, as if the user had
   * typed it.
   */
  readonly asUser?: boolean;
}

/** Runs git and returns its output. Rejects with the last line of stderr. */
export async function runGit(folder: string, args: readonly string[], o: GitOptions = {}): Promise<Buffer> {
  const settings = [...ALWAYS, ...(o.asUser ? [] : READING)];
  if (!o.asUser && !WITHOUT_FILES.includes(args[0]!)) settings.push(...(await filtersOff(folder, o)));
  return start(folder, settings, args, o);
}

/**
 * Returns settings that disable all filters. A clean filter runs for each changed file that git compares, and any
 * settings file that the repository includes may define one. The user's own filters are disabled too, because the
 * repository's attributes choose which filter applies.
 */
async function filtersOff(folder: string, o: GitOptions): Promise<string[]> {
  const asked = start(folder, ALWAYS, ['config', '--name-only', '-z', '--get-regexp', '^filter\\.'], o);
  const keys = String(await asked.catch(none)).split('\0');
  const names = new Set(keys.flatMap((key) => /^filter\.(.*)\.[^.]+$/s.exec(key)?.[1] ?? []));
  return [...names].flatMap((name) => {
    // -c cannot set a name with "=". Failing is better than an answer that this filter influenced.
    if (name.includes('=')) throw new Error(`the git filter "${name}" of this repository cannot be disabled`);
    return ['clean=', 'smudge=', 'process=', 'required=false'].map((part) => `filter.${name}.${part}`);
  });
}

/** `git config` exits with 1 if nothing matches. */
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
  // Load it only if git is used: not every hook and command does.
  const { execFile } = await import('node:child_process');
  // In a git hook these variables would name another repository.
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
    // git may exit before it has read all input.
    if (input !== undefined) child.stdin!.on('error', () => {}).end(input);
  });
}
