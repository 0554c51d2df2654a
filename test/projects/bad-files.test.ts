import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { boundedBrief } from '../../src/client/projects/brief.ts';
import { coldStart } from '../../src/client/projects/cold-start.ts';
import { countTokens } from '../token-count.ts';
import { ScratchFolder } from './scratch-folder.ts';
import { fill } from './shop.ts';

async function brief(folder: ScratchFolder, quick = false, max = 1_000) {
  const { draft, now } = await coldStart(openProject(folder.path), null, { quick });
  return boundedBrief(draft, max, now, async (text) => countTokens(text));
}

/** For each project file, a text that the brief takes from the file. */
const FROM = {
  'PROJECT.md': '- Sells tea',
  'state.json': '- Task: Login',
  'todos.json': 'Search page',
  'decisions.md': 'ADR-002',
};

test('one bad file of four is reported, and the other three are in the brief', async () => {
  const bad = {
    'not UTF-8': Buffer.from([0x7b, 0xff, 0xfe]),
    'not JSON': Buffer.from('{"current_task": "x", "todos": '),
    'too large': Buffer.alloc(5_000_000, 'x'),
    'a folder': null,
  };
  for (const name of Object.keys(FROM)) {
    for (const [how, bytes] of Object.entries(bad)) {
      if (how === 'not JSON' && name.endsWith('.md')) continue;
      using folder = new ScratchFolder();
      fill(folder);
      rmSync(join(folder.path, name));
      if (bytes === null) mkdirSync(join(folder.path, name));
      else writeFileSync(join(folder.path, name), bytes);
      for (const quick of [true, false]) {
        const { text } = await brief(folder, quick);
        assert.match(text, new RegExp(`^! .*${name.replace('.', '\\.')}`, 'm'), `${name} ${how}`);
        for (const [other, line] of Object.entries(FROM))
          assert.equal(text.includes(line), other !== name, `${name} ${how}: ${other}\n${text}`);
      }
    }
  }
});

test('comments and trailing commas are read, kept and mentioned once', async () => {
  using folder = new ScratchFolder();
  fill(folder);
  folder.write(
    'state.json',
    '{\n  // what we do\n  "current_task": "Login",\n  "progress": { "next_steps": ["Reset",], },\n  "last_update": "2026-01-01T00:00:00Z",\n}\n',
  );
  folder.write('todos.json', folder.read('todos.json').replace('{', '{ /* ours */'));
  for (const quick of [true, false]) {
    const { text } = await brief(folder, quick);
    assert.match(text, /- Task: Login[\s\S]*- Next: Reset[\s\S]*Search page/);
    assert.equal(text.match(/trailing commas/g)?.length, 1, text);
    assert.match(text, /^! Comments or trailing commas in state\.json, todos\.json are kept/m);
  }
  const project = openProject(folder.path);
  await project.sync({ next: ['Tea'], todos: [{ title: 'Cups' }] });
  await project.changeTodo('2', { status: 'completed' });
  assert.match(folder.read('state.json'), /\/\/ what we do\n[\s\S]*"next_steps": \["Reset", "Tea",\],/);
  assert.match(folder.read('todos.json'), /^\{ \/\* ours \*\//);
  const findings = await project.check();
  assert.deepEqual(
    findings.filter(({ what }) => what.includes('commas')).map(({ level }) => level),
    ['warning'],
  );
});

test('todo list has pages, and counts of what is left out are true', async () => {
  using folder = new ScratchFolder();
  const todos = Array.from({ length: 620 }, (_, n) => ({
    id: `TODO-${String(n + 1).padStart(3, '0')}`,
    title: `Step ${n + 1}`,
    priority: n % 3 === 0 ? 'high' : 'low',
    status: n < 20 ? 'completed' : 'pending',
    completed_at: n < 20 ? '2026-01-01T00:00:00Z' : undefined,
  }));
  folder.write('todos.json', JSON.stringify({ todos, last_review: new Date().toISOString() }));
  const ids = new Set<string>();
  let after: string[] = [];
  for (let left = 600; left > 0; ) {
    const page = JSON.parse((await folder.relay(['todo', 'list', '-n', '250', '--json', ...after])).stdout);
    for (const { id } of page.todos) ids.add(id);
    left -= page.todos.length;
    assert.deepEqual([page.total, page.left], [600, left]);
    after = ['--after', page.todos.at(-1).id];
  }
  assert.equal(ids.size, 600);
  const { stdout } = await folder.relay(['todo', 'list']);
  assert.match(stdout, /\n550 of 600 not shown yet: relay todo list --after TODO-\d+/);
  assert.equal((await folder.relay(['todo', 'list', '--after', 'TODO-999'])).code, 2);

  const { text, omitted } = await brief(folder, true);
  const listedCount = text.match(/^- TODO-/gm)!.length;
  assert.equal(listedCount + omitted, 600, text);
});
