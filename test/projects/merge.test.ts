import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { ScratchFolder } from './scratch-folder.ts';

const WHY = ['--context', 'c', '--decision', 'd', '--consequences', 'e'];

/** Creates a repository in which two branches each added a todo and a decision and wrote the state. */
async function diverged(folder: ScratchFolder, o: { readonly driver: boolean }) {
  const project = openProject(folder.path);
  const why = { context: 'c', decision: 'd', consequences: 'e' };
  folder.git('init', '-q', '-b', 'main');
  for (const [key, value] of [
    ['user.name', 'Test'],
    ['user.email', 'test@example.org'],
  ])
    folder.git('config', key!, value!);
  await project.init();
  await project.decide({ title: 'Base', ...why });
  await project.addTodo({ title: 'base' });
  if (o.driver) assert.equal((await folder.relay(['install', 'git'])).code, 0);
  folder.git('add', '.');
  folder.git('commit', '-qm', 'base');
  const side = async (branch: string) => {
    await project.addTodo({ title: `on ${branch}` });
    await project.decide({ title: `On ${branch}`, ...why });
    await project.sync({ next: [`TODO-002 and ADR-002 of ${branch}`], phase: branch });
    folder.git('commit', '-qam', branch);
  };
  folder.git('checkout', '-qb', 'side');
  await side('side');
  folder.git('checkout', '-q', 'main');
  await side('main');
}

/** Asserts that entries of both branches exist, numbers are unique, and references still name the entry they meant. */
async function assertMerged(folder: ScratchFolder): Promise<void> {
  const { todos } = folder.json('todos.json');
  const numbers = new Map<string, string>(
    todos.map(({ id, title }: { id: string; title: string }) => [title, id]),
  );
  assert.deepEqual([...numbers.values()].sort(), ['TODO-001', 'TODO-002', 'TODO-003']);
  const decisions = folder.read('decisions.md');
  const steps: string[] = folder.json('state.json').progress.next_steps;
  for (const branch of ['main', 'side']) {
    const adr = new RegExp(`^## (ADR-\\d+): On ${branch}$`, 'm').exec(decisions)![1];
    assert.ok(steps.includes(`${numbers.get(`on ${branch}`)} and ${adr} of ${branch}`), steps.join());
  }
  assert.deepEqual(await openProject(folder.path).check(), []);
}

test('a git conflict is reported as such, blocks new decisions, and is resolved by relay project merge', async () => {
  using folder = new ScratchFolder();
  await diverged(folder, { driver: false });
  assert.throws(() => folder.git('merge', '-q', 'side'));
  const decided = await folder.relay(['decide', 'Now', ...WHY]);
  assert.equal(decided.code, 1);
  assert.match(
    decided.stderr,
    /decisions\.md contains git conflict markers .*line \d+.*relay project merge/s,
  );
  const checked = await folder.relay(['project', 'check']);
  assert.equal(checked.code, 1);
  assert.match(checked.stdout, /todos\.json contains git conflict markers/);
  assert.match(checked.stdout, /decisions\.md contains git conflict markers[\s\S]*relay project merge/);
  assert.doesNotMatch(checked.stdout, /rewritten|twice|line 1, column/);
  const merged = await folder.relay(['project', 'merge']);
  assert.equal(merged.code, 0, merged.stderr);
  assert.match(merged.stdout, /TODO-002 of (?:ours|theirs) is TODO-003 now/);
  assert.equal(folder.git('diff', '--name-only', '--diff-filter=U').trim(), '');
  folder.git('commit', '-qm', 'merged');
  await assertMerged(folder);
  assert.match((await folder.relay(['project', 'merge'])).stdout, /Nothing to merge/);
});

test('with relay install git, git merge and git rebase resolve conflicts automatically', async () => {
  for (const way of [
    ['merge', '-q', '--no-edit', 'side'],
    ['rebase', '-q', 'side'],
  ]) {
    using folder = new ScratchFolder();
    await diverged(folder, { driver: true });
    folder.git(...way);
    assert.equal(folder.git('status', '--short'), '');
    await assertMerged(folder);
  }
});

test('removing relay install git restores the previous configuration', async () => {
  using folder = new ScratchFolder();
  folder.git('init', '-q');
  folder.write('.gitattributes', '*.png binary\n');
  assert.equal((await folder.relay(['install', 'git'])).code, 0);
  assert.match(folder.read('.gitattributes'), /^\*\.png binary\nPROJECT\.md merge=relay\n/);
  assert.equal((await folder.relay(['install', 'git', '--check'])).code, 0);
  assert.equal((await folder.relay(['install', 'git', '--remove'])).code, 0);
  assert.equal(folder.read('.gitattributes'), '*.png binary\n');
  assert.throws(() => folder.git('config', '--local', 'merge.relay.driver'));
});

test('numbers that occur twice in a file without a merge are also reported and renumbered', async () => {
  using folder = new ScratchFolder();
  const project = openProject(folder.path);
  await project.init();
  await project.addTodo({ title: 'one' });
  await project.decide({ title: 'One', context: 'c', decision: 'd', consequences: 'e' });
  const { todos, ...rest } = folder.json('todos.json');
  folder.write('todos.json', JSON.stringify({ ...rest, todos: [...todos, { ...todos[0], title: 'two' }] }));
  const text = folder.read('decisions.md');
  const record = text.slice(text.indexOf('## ADR-001'));
  folder.write('decisions.md', `${text}\n${record.replace('One', 'Two')}`);
  assert.deepEqual(
    (await project.check()).map(({ what }) => what),
    ['the id TODO-001 is used twice', 'the id ADR-001 is used twice'],
  );
  const { written } = await project.merge();
  assert.deepEqual(written, ['todos.json', 'decisions.md']);
  assert.deepEqual(await project.check(), []);
});
