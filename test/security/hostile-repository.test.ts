import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectGit } from '../../src/app/projects/project-git.ts';
import { runHere } from '../cli/in-process.ts';
import { config, everyFile, VECTORS } from './git-vectors.ts';
import { HostileFolder } from './hostile-folder.ts';

/** Commands that call git. Some may run before the user has trusted the folder. */
const COMMANDS: readonly (readonly string[])[] = [
  ['project', 'start'],
  ['project', 'check'],
  ['project', 'merge'],
  ['project', 'init', '--force'],
  ['project', 'sync', '--done', 'x'],
  ['handoff', '--to', 'codex'],
  ['hook', 'claude', 'session-start'],
  ['hook', 'claude', 'pre-compact'],
  ['hook', 'claude', 'stop'],
  ['install', 'git', '--dry-run'],
];

/** A repository in which every tracked file looks changed, so that git compares it. */
function hostileRepository(): HostileFolder {
  const folder = new HostileFolder();
  folder.git('init', '-q', '-b', 'main');
  folder.write('decisions.md', '# Decisions\n');
  folder.write('work.txt', 'one\n');
  folder.trap('evil/trap');
  folder.git('add', '.');
  folder.git('commit', '-qm', 'begin');
  folder.write('work.txt', 'two\n');
  return folder;
}

const run = (folder: HostileFolder, args: readonly string[]) =>
  runHere(args, { home: folder.home, cwd: folder.path, stdin: JSON.stringify({ cwd: folder.path }) });

/** Runs every git query that the program uses on a folder. */
async function askEverything(folder: string): Promise<void> {
  const git = projectGit(folder);
  const head = (await git.status()).commit ?? 'HEAD';
  await Promise.allSettled([
    git.commits({ limit: 5, paths: ['kept.ts', 'a.txt'] }),
    git.changedLines(),
    git.hunks(['kept.ts', 'a.txt']),
    git.history('decisions.md', 50),
    git.merging(),
    git.textIn(head, 'decisions.md'),
    git.isShallow(),
    git.remote(),
    git.mergeLines({ base: 'a\n', ours: 'b\n', theirs: 'c\n' }),
  ]);
}

for (const [name, { set, springs }] of Object.entries(VECTORS)) {
  test(`git runs no program that a repository names: ${name}`, async () => {
    using folder = hostileRepository();
    set(folder, folder.trap('evil/trap'));
    await askEverything(folder.path);
    assert.deepEqual(folder.wasRun, []);
    if (springs === null) return;
    spawnSync('git', springs, { cwd: folder.path, timeout: 20_000 });
    assert.equal(folder.wasRun.length, 1, `git ${springs.join(' ')} would have run it`);
  });
}

test('no command runs a program that a repository names', async () => {
  using folder = hostileRepository();
  for (const name of [
    'core.fsmonitor',
    'core.hooksPath',
    'filter.*.clean, by .gitattributes',
    'diff.external',
  ])
    VECTORS[name]!.set(folder, folder.trap('evil/trap'));
  assert.equal((await run(folder, ['project', 'init'])).code, 0);
  for (const command of COMMANDS) {
    await run(folder, command);
    assert.deepEqual(folder.wasRun, [], command.join(' '));
  }
});

test('only one source file starts git', () => {
  const src = join(import.meta.dirname, '../../src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(?<!\.test)\.ts$/.test(name),
  );
  const starts = /(?:spawn|exec|execFile)(?:Sync)?\)?\(\s*['"`]git\b/;
  assert.deepEqual(
    files.filter((name) => starts.test(readFileSync(join(src, name), 'utf8'))),
    [join('app', 'projects', 'run-git.ts')],
  );
});

test('a folder with the layout of a bare repository inside a clone is not used as repository', async () => {
  using folder = hostileRepository();
  folder.git('init', '-q', '--bare', 'deep');
  for (const [key, value] of [
    ['core.bare', 'false'],
    ['core.worktree', join(folder.path, 'deep')],
    ['core.fsmonitor', join(folder.path, 'evil/trap')],
  ] as const)
    folder.git('config', '-f', 'deep/config', key, value);
  await askEverything(join(folder.path, 'deep'));
  assert.deepEqual(folder.wasRun, []);
  spawnSync('git', ['-C', 'deep', 'status'], { cwd: folder.path, timeout: 20_000 });
  assert.deepEqual(folder.wasRun, ['trap']);
});

test('a commit requested by the user runs the hooks of the repository', async () => {
  using folder = hostileRepository();
  assert.equal((await run(folder, ['project', 'init'])).code, 0);
  folder.trap('.git/hooks/pre-commit');
  const { code, stderr } = await run(folder, ['project', 'sync', '--done', 'x', '--commit']);
  assert.deepEqual([code, folder.wasRun], [1, ['pre-commit']]);
  assert.match(stderr, /git failed to commit/);
});

test('the git status of a repository with filters is still reported', async () => {
  using folder = hostileRepository();
  assert.equal((await run(folder, ['project', 'init'])).code, 0);
  everyFile(folder, 'filter=x');
  config(folder, 'filter.x.clean', folder.trap('evil/trap'));
  config(folder, 'filter.x.required', 'true');
  const { stdout } = await run(folder, ['handoff', '--to', 'codex']);
  assert.match(stdout, /M work\.txt \(\+1 -1\)/);
  assert.match(stdout, /\) begin\n/);
});
