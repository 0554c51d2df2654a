import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectGit } from './project-git.ts';

test('commits and head are read from a repository, from a folder in it and from a worktree', async () => {
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
    assert.equal((await projectGit(folder).status()).commit, null, 'no commit yet');
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
      const { branch, commit } = await projectGit(at).status();
      assert.deepEqual({ branch, commit }, { branch: 'trunk', commit: commits[0]!.hash });
    }
    assert.equal((await projectGit(join(folder, 'tree')).status()).branch, 'tree');
    git('checkout', '-q', '--detach');
    assert.equal((await projectGit(folder).status()).branch, null);
    assert.deepEqual(await projectGit(folder).commits({ since: Date.now() + 5000, limit: 9 }), []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  assert.deepEqual(await projectGit(tmpdir()).commits({ limit: 9 }), []);
});

test('a caller can wait until git runs, which ends even if git fails', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-git-'));
  try {
    const outside = projectGit(folder);
    const nothing = outside.status();
    await outside.started();
    assert.equal((await nothing).commit, null);

    execFileSync('git', ['init', '-q', '-b', 'trunk'], { cwd: folder });
    const git = projectGit(folder);
    let done = false;
    const status = git.status().finally(() => {
      done = true;
    });
    await git.started();
    assert.equal(done, false, 'git still runs');
    assert.equal((await status).branch, 'trunk');

    // A filter with `=` in its name cannot be disabled, so git is never asked for the status.
    execFileSync('git', ['config', 'filter.a=b.clean', 'true'], { cwd: folder });
    const refused = git.status();
    await git.started();
    assert.equal((await refused).branch, null);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('differences from the last commit are listed by relative path with the number of lines', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-git-'));
  const git = (...args: string[]) =>
    execFileSync(
      'git',
      ['-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...args],
      {
        cwd: folder,
      },
    );
  try {
    git('init', '-q');
    mkdirSync(join(folder, 'deep'));
    for (const name of ['deep/old name.ts', 'deep/kept.ts', 'outside.ts', 'deep/state.json'])
      writeFileSync(join(folder, name), 'one\ntwo\nthree\n');
    git('add', '.');
    git('commit', '-qm', 'begin');
    git('mv', 'deep/old name.ts', 'deep/new name.ts');
    for (const name of ['deep/kept.ts', 'outside.ts', 'deep/state.json', 'deep/fresh.ts'])
      writeFileSync(join(folder, name), 'one\ntwo\nfour\nfive\n');
    const deep = projectGit(join(folder, 'deep'));
    assert.deepEqual((await deep.status()).inFlight, [
      { path: 'kept.ts', state: 'M' },
      { path: 'new name.ts', state: 'R' },
      { path: 'fresh.ts', state: '??' },
    ]);
    assert.deepEqual((await deep.changedLines()).get('kept.ts'), { added: 2, removed: 1 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
