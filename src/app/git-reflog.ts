import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Commit, ProjectGit } from '../domain/projects/files.ts';

/**
 * What git noted about this working copy, read from its files: no process is started, which is what a hook has no time for.
 * The reflog knows what was committed, merged and pulled here, with the subject of each commit made here.
 */
export function reflogGit(folder: string): Pick<ProjectGit, 'commits' | 'head'> {
  return {
    async commits({ since = 0, limit }) {
      const dir = findGitDir(folder);
      const log = dir && readText(join(dir, 'logs', 'HEAD'));
      return log ? readReflog(log, since).slice(0, limit) : [];
    },
    async head() {
      const dir = findGitDir(folder);
      const log = dir && readText(join(dir, 'logs', 'HEAD'));
      const commit = log?.trimEnd().split('\n').at(-1)?.split(' ')[1];
      const branch = /^ref: refs\/heads\/(.+)$/m.exec((dir && readText(join(dir, 'HEAD'))) ?? '')?.[1];
      return commit ? { commit, branch: branch ?? null } : null;
    },
  };
}

/** Newest first. A commit that was amended is told as what became of it. */
export function readReflog(text: string, since: number): Commit[] {
  const commits: Commit[] = [];
  for (const line of text.trimEnd().split('\n').reverse()) {
    const [, before, hash, seconds, action, subject] =
      /^([0-9a-f]+) ([0-9a-f]+) .*? (\d+) [+-]\d{4}\t(\w+)[^:]*: (.*)$/.exec(line) ?? [];
    if (!hash || !before || !ACTIONS.has(action!)) continue;
    const at = Number(seconds) * 1000;
    if (at <= since) break;
    commits.push({ hash, at, subject: action === 'commit' ? subject! : `${action}: ${subject}` });
  }
  return withoutAmended(text, commits);
}

const ACTIONS = new Set(['commit', 'merge', 'pull', 'revert', 'am', 'cherry']);

function withoutAmended(text: string, commits: readonly Commit[]): Commit[] {
  const amended = new Set(
    [...text.matchAll(/^([0-9a-f]+) [0-9a-f]+ .*\tcommit \(amend\)/gm)].map((found) => found[1]),
  );
  return commits.filter(({ hash }) => !amended.has(hash));
}

/** The folder of the repository around this one; of a worktree or a submodule, where its `.git` file points. */
function findGitDir(folder: string): string | null {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const git = join(at, '.git');
    const entry = statSync(git, { throwIfNoEntry: false });
    if (entry?.isDirectory()) return git;
    const pointed = entry && /^gitdir: (.+)$/m.exec(readText(git) ?? '')?.[1];
    if (pointed) return resolve(at, pointed);
    if (dirname(at) === at) return null;
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
