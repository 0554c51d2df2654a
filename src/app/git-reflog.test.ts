import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readReflog, reflogGit } from './git-reflog.ts';
import { projectGit } from './project-git.ts';

test('the reflog tells the same commits as git log, without starting git', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-reflog-'));
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
    for (const subject of ['first', 'second: with a colon', 'thrid'])
      git('commit', '-q', '--allow-empty', '-m', subject);
    git('commit', '-q', '--amend', '--allow-empty', '-m', 'third');
    git('worktree', 'add', '-q', join(folder, 'tree'));
    mkdirSync(join(folder, 'deep'));
    for (const at of [folder, join(folder, 'deep')]) {
      assert.deepEqual(await reflogGit(at).commits({ limit: 9 }), await projectGit(at).commits({ limit: 9 }));
      assert.deepEqual(await reflogGit(at).head(), await projectGit(at).head());
    }
    assert.equal((await reflogGit(join(folder, 'tree')).head())?.branch, 'tree');
    assert.deepEqual(await reflogGit(folder).commits({ since: Date.now() + 5000, limit: 9 }), []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  assert.deepEqual(await reflogGit(tmpdir()).commits({ limit: 9 }), []);
});

test('what only moved the working copy is no news', () => {
  const line = (from: string, to: string, at: number, what: string) =>
    `${from.repeat(40)} ${to.repeat(40)} A <a@b> ${at} +0100\t${what}\n`;
  const log =
    line('0', 'a', 100, 'commit (initial): one') +
    line('a', 'b', 200, 'commit: two') +
    line('b', 'a', 300, 'checkout: moving from x to y') +
    line('a', 'c', 400, 'pull: Fast-forward') +
    line('c', 'd', 500, 'commit (merge): three');
  assert.deepEqual(
    readReflog(log, 100_000).map(({ subject, at }) => [subject, at]),
    [
      ['three', 500_000],
      ['pull: Fast-forward', 400_000],
      ['two', 200_000],
    ],
  );
});
