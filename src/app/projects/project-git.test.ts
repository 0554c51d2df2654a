import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectGit } from './project-git.ts';

test('the commits and the head of a repository, of a folder in it and of a worktree', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-git-'));
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-c', 'user.name=A B', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    );
  try {
    git('init', '-q', '-b', 'trunk');
    assert.equal((await projectGit(folder).standing()).commit, null, 'no commit yet');
    for (const subject of ['first', 'second: with a colon', 'thrid'])
      git('commit', '-q', '--allow-empty', '-m', subject);
    git('commit', '-q', '--amend', '--allow-empty', '-m', 'third');
    git('worktree', 'add', '-q', join(folder, 'tree'));
    mkdirSync(join(folder, 'deep'));
    for (const at of [folder, join(folder, 'deep')]) {
      const commits = await projectGit(at).commits({ limit: 2 });
      assert.deepEqual(
        commits.map(({ subject }) => subject),
        ['third', 'second: with a colon'],
      );
      const { branch, commit } = await projectGit(at).standing();
      assert.deepEqual({ branch, commit }, { branch: 'trunk', commit: commits[0]!.hash });
    }
    assert.equal((await projectGit(join(folder, 'tree')).standing()).branch, 'tree');
    git('checkout', '-q', '--detach');
    assert.equal((await projectGit(folder).standing()).branch, null);
    assert.deepEqual(await projectGit(folder).commits({ since: Date.now() + 5000, limit: 9 }), []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  assert.deepEqual(await projectGit(tmpdir()).commits({ limit: 9 }), []);
});
