import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { ScratchFolder } from './scratch-folder.ts';

const decision = (title: string) => ({ title, context: 'c', decision: 'd', consequences: 'e' });

async function findErrors(folder: ScratchFolder): Promise<string[]> {
  const findings = await openProject(folder.path).check();
  return findings.filter(({ level }) => level === 'wrong').map(({ what }) => what);
}

test('without git, a decision that was rewritten after relay saw it is reported', async () => {
  using folder = new ScratchFolder();
  const project = openProject(folder.path);
  await project.init();
  await project.decide(decision('First'));
  await project.decide(decision('Second'));
  assert.deepEqual(await findErrors(folder), []);
  folder.write('decisions.md', folder.read('decisions.md').replace('First', 'Never said so'));
  assert.deepEqual(await findErrors(folder), [
    'history was rewritten: ADR-001 was changed since a relay command last read it',
  ]);
  await project.decide(decision('Third'));
  assert.equal((await findErrors(folder)).length, 1, 'a later decision does not seal the change');
  const ran = await folder.relay(['project', 'check']);
  assert.equal(ran.code, 1);
  assert.match(ran.stdout, /relay project check --accept/);
  assert.equal((await folder.relay(['project', 'check', '--accept'])).code, 0);
  assert.deepEqual(await findErrors(folder), []);
});

test('with git, a decision that was rewritten since the last commit or in an earlier one is reported', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  const project = openProject(folder.path);
  await project.init();
  await project.decide(decision('First'));
  folder.git('add', '.');
  folder.git('commit', '-qm', 'one');
  assert.ok(!folder.git('ls-files').includes('.relay'), 'the local folder ignores itself');
  await project.decide(decision('Second'));
  folder.git('commit', '-qam', 'two');
  // Delete the local folder with the seal (digests of known decisions): a clone on another machine does not have it.
  rmSync(join(folder.path, '.relay'), { recursive: true });
  assert.deepEqual(await findErrors(folder), []);

  const whole = folder.read('decisions.md');
  folder.write('decisions.md', whole.slice(0, whole.indexOf('## ADR-002')));
  assert.deepEqual(await findErrors(folder), [
    'history was rewritten: ADR-002 is gone since the last commit',
  ]);
  folder.git('commit', '-qam', 'three');
  const three = folder.git('rev-parse', 'HEAD').slice(0, 9);
  assert.deepEqual(await findErrors(folder), [`history was rewritten: ADR-002 is gone in commit ${three}`]);

  await project.check({ accept: true });
  assert.deepEqual(await findErrors(folder), []);
  await project.decide(decision('Again'));
  folder.git('commit', '-qam', 'four');
  assert.deepEqual(await findErrors(folder), []);
});

test('sync --commit commits only the project files', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  for (const [key, value] of [
    ['user.name', 'Test'],
    ['user.email', 'test@example.org'],
  ])
    folder.git('config', key!, value!);
  await folder.relay(['project', 'init']);
  folder.write('other.txt', 'x');
  folder.git('add', 'other.txt');
  const ran = await folder.relay(['project', 'sync', '--done', 'the form', '--commit']);
  assert.match(ran.stdout, /committed [0-9a-f]{9}/, ran.stderr);
  assert.deepEqual(
    folder.git('show', '--name-only', '--format=%s', 'HEAD').trim().split('\n').filter(Boolean),
    ['project: sync after the form', 'PROJECT.md', 'decisions.md', 'state.json', 'todos.json'],
  );
  assert.match(folder.git('status', '--short'), /^A {2}other\.txt/m);
  using plain = new ScratchFolder();
  await plain.relay(['project', 'init']);
  const refused = await plain.relay(['project', 'sync', '--commit'], {
    env: { GIT_CEILING_DIRECTORIES: plain.root },
  });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /not in a git repository/);
});
