import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { ScratchFolder } from './scratch-folder.ts';

const decision = (title: string) => ({ title, context: 'c', decision: 'd', consequences: 'e' });

async function findErrors(path: string): Promise<string[]> {
  const findings = await openProject(path).check();
  return findings.filter(({ level }) => level === 'wrong').map(({ what }) => what);
}

/** Creates a repository with one decision on main and a second one on the branch `side`. */
async function diverged(folder: ScratchFolder) {
  const project = openProject(folder.path);
  folder.git('init', '-q', '-b', 'main');
  await project.init();
  await project.decide(decision('First'));
  folder.git('add', '.');
  folder.git('commit', '-qm', 'one');
  folder.git('checkout', '-qb', 'side');
  await project.decide(decision('On the side'));
  folder.git('commit', '-qam', 'side');
  folder.git('checkout', '-q', 'main');
  return project;
}

test('decisions that are only on another branch are not reported as lost', async () => {
  using folder = new ScratchFolder();
  await diverged(folder);
  assert.deepEqual(await findErrors(folder.path), [], 'back on main, after relay saw the other branch');
  folder.git('checkout', '-q', 'side');
  assert.deepEqual(await findErrors(folder.path), []);
});

test('a merge of two branches is not reported as tampering, here and in a fresh clone', async () => {
  using folder = new ScratchFolder();
  const project = await diverged(folder);
  folder.write('other.txt', 'x');
  folder.git('add', '.');
  folder.git('commit', '-qm', 'main goes on');
  folder.git('merge', '-q', '--no-edit', 'side');
  await project.decide(decision('On main'));
  folder.git('commit', '-qam', 'three');
  folder.git('checkout', '-q', 'side');
  await project.decide(decision('More on the side'));
  folder.git('commit', '-qam', 'more');
  folder.git('checkout', '-q', 'main');
  // Both branches have an ADR-003 now. Resolve the conflict by hand: one of them gets a new number.
  const theirs = folder.git('show', 'side:decisions.md');
  const record = theirs.slice(theirs.indexOf('## ADR-003')).replace('ADR-003', 'ADR-004');
  folder.git('merge', '-q', '-s', 'ours', '--no-commit', 'side');
  folder.write('decisions.md', `${folder.read('decisions.md')}\n${record}`);
  folder.git('commit', '-qam', 'merge');
  assert.deepEqual(await findErrors(folder.path), []);
  const clone = join(folder.root, 'clone');
  folder.git('clone', '-q', folder.path, clone);
  assert.deepEqual(await findErrors(clone), []);
});

test('a merge that drops a decision of a branch is reported', async () => {
  using folder = new ScratchFolder();
  await diverged(folder);
  folder.git('commit', '-q', '--allow-empty', '-m', 'main goes on');
  folder.git('merge', '-q', '-s', 'ours', '-m', 'merge', 'side');
  assert.equal((await findErrors(folder.path)).length, 1);
  assert.match((await findErrors(folder.path))[0]!, /ADR-002 is gone/);
});

test('a decision that was changed and restored is not reported', async () => {
  using folder = new ScratchFolder();
  await diverged(folder);
  const whole = folder.read('decisions.md');
  folder.write('decisions.md', whole.replace('First', 'Last'));
  folder.git('commit', '-qam', 'two');
  const two = folder.git('rev-parse', 'HEAD').slice(0, 9);
  assert.deepEqual(await findErrors(folder.path), [
    `history was rewritten: ADR-001 was changed in commit ${two}`,
  ]);
  folder.write('decisions.md', whole);
  assert.deepEqual(await findErrors(folder.path), []);
  folder.git('commit', '-qam', 'three');
  assert.deepEqual(await findErrors(folder.path), []);
});

test('an accepted change is recorded in decisions.md and valid in a fresh clone; a later change is reported again', async () => {
  using folder = new ScratchFolder();
  const project = await diverged(folder);
  folder.write('decisions.md', folder.read('decisions.md').replace('First', 'Last'));
  folder.git('commit', '-qam', 'two');
  const ran = await folder.relay(['project', 'check', '--accept']);
  assert.equal(ran.code, 0, ran.stdout + ran.stderr);
  assert.match(folder.read('decisions.md'), /^- Accepts: ADR-001 [0-9a-f]{16}$/m);
  folder.git('commit', '-qam', 'accepted');
  const clone = join(folder.root, 'clone');
  folder.git('clone', '-q', folder.path, clone);
  assert.deepEqual(await findErrors(clone), []);
  await project.check({ accept: true });
  assert.equal(folder.git('status', '--short'), '', 'nothing to accept, nothing written');
  folder.write('decisions.md', folder.read('decisions.md').replace('Last', 'Middle'));
  assert.match((await findErrors(folder.path)).join(), /ADR-001 was changed/);
});

test('a shallow clone warns that it sees only a part of the history', async () => {
  using folder = new ScratchFolder();
  await diverged(folder);
  const clone = join(folder.root, 'clone');
  folder.git('clone', '-q', '--depth', '1', `file://${folder.path}`, clone);
  const findings = await openProject(clone).check();
  assert.deepEqual(
    findings.map(({ level, file }) => [level, file]),
    [['warning', 'decisions.md']],
  );
  assert.match(findings[0]!.fix, /git fetch --unshallow/);
  rmSync(clone, { recursive: true });
});
