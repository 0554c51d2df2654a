import fs, { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import {
  type GitStatus,
  LOCAL_FOLDER,
  PROJECT_FILES,
  type ProjectGit,
  placed,
} from '../../client/projects/files.ts';
import { realPath } from '../own-package.ts';
import { type GitOptions, runGit } from './run-git.ts';

/** Keeps git out of submodules, whose own settings can name programs to run. */
const NO_SUBMODULES = '--ignore-submodules=dirty';
const STATUS = `status --porcelain=v2 --branch -z --untracked-files=normal ${NO_SUBMODULES}`.split(' ');
/** Use `diff-index`: `git diff` would write the index and could run an external diff program. */
const CHANGED_LINES = `diff-index HEAD --numstat --no-renames --relative -z ${NO_SUBMODULES}`.split(' ');
const HUNKS =
  `diff-index HEAD -p -U0 --no-ext-diff --no-textconv --no-color --no-renames --relative --no-prefix ${NO_SUBMODULES}`.split(
    ' ',
  );
const HISTORY = 'log --full-history --topo-order -m --raw --no-abbrev --no-renames'.split(' ');
const STAGED = `diff --cached --name-only --no-ext-diff ${NO_SUBMODULES}`.split(' ');
const NO_BLOB = '0'.repeat(40);
/**
 * Number of blobs per call of git. Even at the maximum size of a project file they fit into git's output
 * limit.
 */
const BLOBS_AT_ONCE = 15;

/**
 * Returns the git functions for a folder. Most results are empty if git or the repository is missing, or if
 * git is too slow.
 */
export function projectGit(folder: string, timeoutMs?: number, place = ''): ProjectGit {
  const projectPaths = new Set([place, ...PROJECT_FILES.map((name) => `${place}${name}`)]);
  const at = (names: readonly string[]) => names.map((name) => placed(name, place));
  let starting: Promise<unknown> = Promise.resolve();
  const inRepository = async (args: readonly string[], o: GitOptions) => {
    if (!repositoryAround(folder)) throw new Error('not a git repository');
    const start = Promise.withResolvers<void>();
    starting = Promise.all([starting, start.promise]);
    const output = runGit(folder, args, { timeoutMs, started: start.resolve, ...o });
    return String(await output.finally(start.resolve));
  };
  const git = (...args: string[]) => inRepository(args, {});
  const gitAsUser = (...args: string[]) => inRepository(args, { asUser: true });
  const lines = async (...args: string[]) => (await git(...args).catch(() => '')).split('\n').filter(Boolean);
  return {
    async started() {
      await starting;
    },
    async commits({ since, limit, paths = [] }) {
      const after = since === undefined ? [] : [`--since=@${Math.floor(since / 1000) + 1}`];
      const which = [`--max-count=${limit}`, ...after, '--format=%H%x09%ct%x09%s', '--', ...paths];
      const found = await lines('log', ...which);
      return found.map((line) => {
        const [hash = '', seconds = '0', ...subject] = line.split('\t');
        return { hash, at: Number(seconds) * 1000, subject: subject.join(' ') };
      });
    },
    async status() {
      const { branch, commit, inFlight } = readStatus(await git(...STATUS, '--', '.').catch(() => ''));
      const prefix = repositoryAround(folder)?.prefix ?? '';
      const paths = inFlight
        .map(({ path, state }) => ({
          path: path.startsWith(prefix) ? path.slice(prefix.length) : path,
          state,
        }))
        .filter(({ path }) => !projectPaths.has(path) && !path.startsWith(`${LOCAL_FOLDER}/`));
      return { branch, commit, inFlight: paths };
    },
    async changedLines() {
      const text = await git(...CHANGED_LINES).catch(() => '');
      const rows = text.split('\0').map((row) => /^(\d+|-)\t(\d+|-)\t(.+)$/s.exec(row));
      const count = (digits = '') => Number(digits) || 0;
      return new Map(
        rows.flatMap((row) => (row ? [[row[3]!, { added: count(row[1]), removed: count(row[2]) }]] : [])),
      );
    },
    async hunks(paths) {
      const found = new Map<string, string[]>();
      if (paths.length === 0) return found;
      let hunks: string[] = [];
      for (const line of await lines(...HUNKS, '--', ...paths)) {
        if (line.startsWith('diff ')) hunks = [];
        const file = /^(?:---|\+\+\+) (?!\/dev\/null)(.+?)\t?$/.exec(line)?.[1];
        if (hunks.length > 0 || line.startsWith('@@ ')) hunks.push(line);
        else if (file !== undefined && paths.includes(file)) found.set(file, hunks);
      }
      return found;
    },
    async history(name, limit) {
      const log = [...HISTORY, `--max-count=${limit}`, '--format=%x00%H %P', '--', placed(name, place)];
      const text = await git(...log).catch(noHistory);
      const changes = readLog(text).reverse();
      const blobs = [...new Set(changes.flatMap(({ before, after }) => [...before, after]))];
      const texts = new Map([[NO_BLOB, '']]);
      for (let at = 0; at < blobs.length; at += BLOBS_AT_ONCE) {
        const ids = blobs.slice(at, at + BLOBS_AT_ONCE);
        const input = `${ids.join('\n')}\n`;
        const found = await runGit(folder, ['cat-file', '--batch'], { timeoutMs, input });
        for (const [id, blob] of readBlobs(found)) texts.set(id, blob);
      }
      const textOf = (id: string) => texts.get(id) ?? '';
      return changes.map(({ commit, before, after }) => ({
        commit,
        before: before.map(textOf),
        after: textOf(after),
      }));
    },
    async merging() {
      const commit = async (name: string) =>
        (await lines('rev-parse', '--verify', '--quiet', `${name}^{commit}`))[0];
      const ours = await commit('HEAD');
      if (!ours) return null;
      const merged = (await commit('MERGE_HEAD')) ?? headInEnv();
      if (merged) return { base: (await lines('merge-base', ours, merged))[0] ?? null, ours, theirs: merged };
      const [place = ''] = await lines('rev-parse', '--absolute-git-dir');
      const done = await fs.promises.readFile(join(place, 'rebase-merge', 'done'), 'utf8').catch(() => '');
      // During a rebase, only its todo list names the picked commit.
      const picked = /^\w+ ([0-9a-f]{7,64})/.exec(done.trim().split('\n').at(-1) ?? '')?.[1];
      const theirs = (await commit('CHERRY_PICK_HEAD')) ?? (picked ? await commit(picked) : undefined);
      return theirs ? { base: (await commit(`${theirs}^`)) ?? null, ours, theirs } : null;
    },
    textIn: (commit, name) => git('cat-file', 'blob', `${commit}:./${placed(name, place)}`).catch(() => ''),
    async resolved(names) {
      if (names.length > 0) await gitAsUser('add', '--', ...at(names));
    },
    async mergeLines({ base, ours, theirs }) {
      const place = await fs.promises.mkdtemp(join(tmpdir(), 'relay-merge-'));
      try {
        const files = { ours, base, theirs };
        for (const [name, text] of Object.entries(files))
          await fs.promises.writeFile(join(place, name), text);
        // git merge-file exits with the number of conflicts, which runGit reports as an error. So an error
        // counts as a conflict.
        const args = ['merge-file', ...Object.keys(files).flatMap((name) => ['-L', name])];
        const conflict = await runGit(place, [...args, ...Object.keys(files)], { timeoutMs }).then(
          () => false,
          () => true,
        );
        return { text: await fs.promises.readFile(join(place, 'ours'), 'utf8'), conflict };
      } finally {
        await fs.promises.rm(place, { recursive: true, force: true });
      }
    },
    async isShallow() {
      return (await lines('rev-parse', '--is-shallow-repository'))[0] === 'true';
    },
    async remote() {
      const [url] = await lines('remote', 'get-url', 'origin');
      return url ? url.replace(/^([a-z+]+:\/\/)[^@/]*@/i, '$1') : null;
    },
    async commit(names, message) {
      const [inside] = await lines('rev-parse', '--is-inside-work-tree');
      if (inside !== 'true') {
        const hint = 'Run the command without --commit, or run git init first.';
        throw new RelayError('failed', { what: `${folder} is not in a git repository.`, hint });
      }
      try {
        await gitAsUser('add', '--', ...at(names));
        const changed = await git(...STAGED, '--', ...at(names));
        if (changed.trim() === '') return null;
        await gitAsUser('commit', '--quiet', '-m', message, '--', ...at(names));
      } catch (error) {
        const hint = 'The project files were written. Commit them by hand.';
        throw new RelayError('failed', { what: `git failed to commit: ${(error as Error).message}`, hint });
      }
      return (await lines('rev-parse', 'HEAD'))[0] ?? null;
    },
  };
}

/**
 * Returns the commit of the other branch during a merge. git passes it in the name of a variable:
 * `GITHEAD_<commit>=<name>`.
 */
function headInEnv(): string | undefined {
  const heads = Object.keys(process.env).flatMap(
    (name) => /^GITHEAD_([0-9a-f]{40,64})$/.exec(name)?.[1] ?? [],
  );
  return heads.length === 1 ? heads[0] : undefined;
}

/** Returns an empty history if git, the repository or a commit is missing. Throws any other error. */
function noHistory(error: Error): string {
  if (/not a git repository|does not have any commits|ENOENT/.test(error.message)) return '';
  const hint = 'Run git log to see the problem, then run the command again.';
  throw new RelayError('failed', { what: `git could not read the history: ${error.message}`, hint });
}

/**
 * Parses `git log -m --raw`. An entry begins with a NUL, followed by the commit and its parents. Then comes one
 * line for each parent whose file differs; it names the file's blobs before and after the commit.
 */
function readLog(text: string): { commit: string; before: string[]; after: string }[] {
  const changes = new Map<string, { commit: string; parents: number; before: string[]; after: string }>();
  for (const entry of text.split('\0').slice(1)) {
    const [head = '', ...rows] = entry.split('\n').filter(Boolean);
    const [commit = '', ...parents] = head.split(' ');
    for (const row of rows) {
      const [, , before = NO_BLOB, after = NO_BLOB] = row.split(' ');
      const change = changes.get(commit) ?? { commit, parents: parents.length, before: [], after };
      change.before.push(before);
      changes.set(commit, change);
    }
  }
  // git lists a parent only if the file of the parent differs. If a merge has fewer rows than parents, it took the
  // file of a parent unchanged, so omit the merge.
  return [...changes.values()].filter(({ parents, before }) => before.length >= parents);
}

/** Parses `git cat-file --batch`: `<id> blob <bytes>`, a line end, the bytes, a line end. */
function* readBlobs(output: Buffer): Generator<[id: string, text: string]> {
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf('\n', at);
    const [id = '', kind, bytes] = output.toString('latin1', at, end).split(' ');
    at = end + 1;
    if (kind !== 'blob') continue;
    yield [id, output.toString('utf8', at, at + Number(bytes))];
    at += Number(bytes) + 1;
  }
}

/**
 * Parses `git status --porcelain=v2 --branch -z`. Fields are separated by spaces. The name comes last and
 * ends with NUL; a rename has a second name.
 */
function readStatus(text: string): GitStatus {
  let branch: string | null = null;
  let commit: string | null = null;
  const inFlight: { path: string; state: string }[] = [];
  const rows = text.split('\0');
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]!;
    const fields = row.split(' ');
    const pathFrom = { '1': 8, '2': 9, u: 10 }[fields[0]!];
    if (pathFrom) {
      inFlight.push({ path: fields.slice(pathFrom).join(' '), state: fields[1]!.replace('.', '') });
      if (fields[0] === '2') at++;
    } else if (fields[0] === '?') inFlight.push({ path: row.slice(2), state: '??' });
    else if (fields[1] === 'branch.oid') commit = /^[0-9a-f]{40,64}$/.exec(fields[2]!)?.[0] ?? null;
    else if (fields[1] === 'branch.head' && fields[2] !== '(detached)') branch = fields[2]!;
  }
  return { branch, commit, inFlight };
}

/**
 * Returns a folder's path inside its repository, such as `deep/below/`, or null without a repository. Does
 * not ask git, which takes much longer.
 */
function repositoryAround(folder: string): { readonly prefix: string } | null {
  const place = realPath(folder);
  for (let top = place; ; top = dirname(top)) {
    if (existsSync(join(top, '.git'))) {
      const prefix = relative(top, place).replaceAll('\\', '/');
      return { prefix: prefix === '' ? '' : `${prefix}/` };
    }
    if (dirname(top) === top) return null;
  }
}
