import { RelayError } from '../../base/errors.ts';
import {
  DECISIONS_MD,
  LOCAL_FOLDER,
  PROJECT_MD,
  type ProjectGit,
  STATE_JSON,
  TODOS_JSON,
} from '../../client/projects/files.ts';

/** How long git may take by default: enough for a large repository. */
const GIT_MS = 5_000;
const OWN = new Set<string>([PROJECT_MD, STATE_JSON, TODOS_JSON, DECISIONS_MD]);

/** git in a folder. Where git or a repository is missing, or it takes too long, the answers are empty. */
export function projectGit(folder: string, timeoutMs: number = GIT_MS): ProjectGit {
  const git = (...args: string[]) => run(folder, args, timeoutMs);
  const lines = async (...args: string[]) => (await git(...args).catch(() => '')).split('\n').filter(Boolean);
  return {
    async commits({ since, limit }) {
      const after = since === undefined ? [] : [`--since=@${Math.floor(since / 1000) + 1}`];
      const found = await lines('log', `--max-count=${limit}`, ...after, '--format=%H%x09%ct%x09%s');
      return found.map((line) => {
        const [hash = '', seconds = '0', ...subject] = line.split('\t');
        return { hash, at: Number(seconds) * 1000, subject: subject.join(' ') };
      });
    },
    async head() {
      const [commit, ref = ''] = await lines('rev-parse', 'HEAD', '--symbolic-full-name', 'HEAD');
      const branch = /^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? null;
      return commit && /^[0-9a-f]{40,64}$/.test(commit) ? { commit, branch } : null;
    },
    async inFlight() {
      const [text, [prefix = '']] = await Promise.all([
        git('status', '--porcelain=v1', '-z', '--untracked-files=normal', '--', '.').catch(() => ''),
        lines('rev-parse', '--show-prefix'),
      ]);
      return readStatus(text)
        .map(({ path, state }) => ({
          path: path.startsWith(prefix) ? path.slice(prefix.length) : path,
          state,
        }))
        .filter(({ path }) => !OWN.has(path) && !path.startsWith(`${LOCAL_FOLDER}/`));
    },
    async versions(name, limit) {
      const commits = await lines('log', `--max-count=${limit}`, '--format=%H', '--', name);
      const found = [];
      for (const commit of commits) {
        // A commit that deleted the file has no text of it: nothing was left of the history then.
        found.push({ commit, text: await git('show', `${commit}:./${name}`).catch(() => '') });
      }
      return found;
    },
    async remote() {
      const [url] = await lines('remote', 'get-url', 'origin');
      return url ? url.replace(/^([a-z+]+:\/\/)[^@/]*@/i, '$1') : null;
    },
    async commit(names, message) {
      const [inside] = await lines('rev-parse', '--is-inside-work-tree');
      if (inside !== 'true') {
        throw new RelayError('failed', {
          what: `${folder} is not in a git repository.`,
          hint: 'Leave --commit away, or run git init first.',
        });
      }
      try {
        await git('add', '--', ...names);
        const changed = await git('diff', '--cached', '--name-only', '--', ...names);
        if (changed.trim() === '') return null;
        await git('commit', '--quiet', '-m', message, '--', ...names);
      } catch (error) {
        throw new RelayError('failed', {
          what: `git did not commit: ${(error as Error).message}`,
          hint: 'The project files are written; commit them by hand.',
        });
      }
      return (await lines('rev-parse', 'HEAD'))[0] ?? null;
    },
  };
}

/** Reads `git status -z`: names end with NUL, and a rename has a second name behind it. */
function readStatus(text: string): { path: string; state: string }[] {
  const found: { path: string; state: string }[] = [];
  const fields = text.split('\0');
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at]!;
    if (field.length < 4) continue;
    const state = field.slice(0, 2).trim();
    found.push({ path: field.slice(3), state });
    if (/^[RC]/.test(state)) at++;
  }
  return found;
}

async function run(folder: string, args: readonly string[], timeout: number): Promise<string> {
  // Loaded only where git is asked: not every hook and command does.
  const { execFile } = await import('node:child_process');
  // When run from a git hook, these variables would name another repository than that of the folder.
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, ...env } = process.env;
  const o = {
    timeout,
    maxBuffer: 64 * 1024 * 1024,
    windowsHide: true,
    env: { ...env, GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' },
  };
  const settings = ['-c', 'core.quotepath=off', '-c', 'log.showSignature=false'];
  return new Promise((resolve, reject) => {
    execFile('git', ['-C', folder, ...settings, ...args], o, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new Error(stderr.trim().split('\n').at(-1) || error.message));
    });
  });
}
