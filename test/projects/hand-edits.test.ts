import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScratchFolder } from './scratch-folder.ts';

const STATE = `\uFEFF{\r\n\t"mine": {"b": 1, "a": [1,2]},\r\n\t"last_update": "2026-04-19T10:00:00+08:00",\r\n\t"progress": {\r\n\t\t"next_steps": [ "Registration" ],\r\n\t\t"completed": [],\r\n\t\t"blocked": [],\r\n\t\t"in_progress": null\r\n\t},\r\n\t"current_task": "Auth",\r\n\t"phase": "development"\r\n}\r\n\r\n`;
const TODOS =
  '{"last_review":null,"todos":[{"id":"TODO-001","title":"One","status":"pending","tag":"x"}],"v":2}';
const DECISIONS =
  '<!-- kept by Ann -->\r\n# Decisions\r\n\r\n## ADR-001: First\r\n* Date: 2026-04-15\r\n* Status: Accepted\r\n* Decision: yes   \r\n\r\nA paragraph of our own.';
const PROJECT =
  '---\ntags: [a]\n---\n\n<!-- # Not the name -->\n# Shop #\n\nSells tea to people who\nlike tea.\n\n## Key constraints\n\n1. Never cold\n* Never late\n';

const COMMANDS: readonly (readonly string[])[] = [
  ['todo', 'add', 'Two', '--priority', 'high', '--notes', 'n'],
  ['todo', 'start', 'TODO-001'],
  ['todo', 'block', '1', '--reason', 'waiting'],
  ['todo', 'done', '1'],
  ['todo', 'list', '--all'],
  ['todo', 'review'],
  ['decide', 'Second', '--context', 'c', '--decision', 'd', '--consequences', 'e', '--supersedes', '1'],
  ['project', 'sync', '--phase', 'beta', '--done', 'Registration', '--next', 'Logout', '--done', 'TODO-002'],
  ['project', 'handoff', 'Port it', '--expect', 'tests'],
  ['project', 'report', '--result', 'ported'],
  ['project', 'result'],
  ['project', 'start'],
  ['project', 'check'],
  ['project', 'init'],
  ['handoff', '--to', 'codex'],
];

test('hand-edited files with unusual formatting survive every command', async () => {
  using folder = new ScratchFolder();
  for (const [name, text] of Object.entries({
    'PROJECT.md': PROJECT,
    'state.json': STATE,
    'todos.json': TODOS,
    'decisions.md': DECISIONS,
  })) {
    folder.write(name, text);
  }
  for (const command of COMMANDS) {
    const ran = await folder.relay(command);
    assert.equal(ran.code, 0, `${command.join(' ')}: ${ran.stderr}`);
  }
  assert.equal(folder.read('PROJECT.md'), PROJECT);
  assert.ok(folder.read('decisions.md').startsWith(DECISIONS));
  assert.ok(!/[^\r]\n/.test(folder.read('decisions.md')), 'CRLF throughout');

  const state = folder.read('state.json');
  assert.ok(state.startsWith('\uFEFF{\r\n\t"mine": {"b": 1, "a": [1,2]},\r\n\t"last_update"'));
  assert.ok(state.endsWith('}\r\n\r\n'));
  assert.ok(!/[^\r]\n/.test(state) && !/^ +"/m.test(state), 'CRLF and tabs throughout');
  const value = JSON.parse(state.slice(1));
  assert.deepEqual(Object.keys(value), [
    'mine',
    'last_update',
    'progress',
    'current_task',
    'phase',
    'handoffs',
  ]);
  assert.deepEqual(value.progress.completed, ['Registration', 'Two']);
  assert.deepEqual(value.progress.next_steps, ['Logout']);
  assert.equal(value.handoffs[0].result, 'ported');

  const todos = folder.read('todos.json');
  assert.ok(!todos.includes('\n') && todos.startsWith('{"last_review":"2'));
  const list = JSON.parse(todos).todos;
  assert.deepEqual(
    [list[0].tag, list[0].status, list[1].id, list[1].status],
    ['x', 'completed', 'TODO-002', 'completed'],
  );
});

test('a file that does not parse is reported with line and column, and never written', async () => {
  using folder = new ScratchFolder();
  const broken = {
    'state.json': '{\n  "phase": "x",\n  "notes": "a" oops\n}\n',
    'todos.json': '{\n  "todos": [\n    {"id": 1},,\n  ]\n}\n',
  };
  for (const [name, text] of Object.entries(broken)) folder.write(name, text);
  folder.write('PROJECT.md', '# Shop\n');
  for (const [command, message] of [
    [['todo', 'add', 'x'], /todos\.json cannot be used: a value is expected \(line 3, column 15\)/],
    [
      ['project', 'sync', '--note', 'x', '--todo', 'y'],
      /state\.json cannot be used: a comma or } is expected \(line 3, column 16\)/,
    ],
    [['project', 'handoff', 'x'], /state\.json cannot be used/],
    [['todo', 'review'], /todos\.json cannot be used/],
  ] as const) {
    const ran = await folder.relay(command);
    assert.equal(ran.code, 1);
    assert.match(ran.stderr, message);
  }
  const start = await folder.relay(['project', 'start']);
  assert.equal(start.code, 0);
  assert.match(start.stdout, /! state\.json cannot be used: .* \(line 3, column 16\)/);
  assert.equal((await folder.relay(['project', 'check'])).code, 1);
  for (const [name, text] of Object.entries(broken)) assert.equal(folder.read(name), text);
});

test('without project files a command says how to create them; files that are not text are rejected', async () => {
  using folder = new ScratchFolder();
  const ran = await folder.relay(['todo', 'add', 'x']);
  assert.equal(ran.code, 3);
  assert.match(ran.stderr, /relay project init/);
  folder.write('PROJECT.md', '# Shop\n');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(`${folder.path}/state.json`, Buffer.from('{\n "phase": "\xff"}', 'latin1'));
  assert.match((await folder.relay(['project', 'sync'])).stderr, /it is not UTF-8 \(line 2, column 12\)/);
});

test('a command in a subfolder finds the project above it', async () => {
  using folder = new ScratchFolder();
  await folder.relay(['project', 'init']);
  folder.write('src/deep/a.txt', '');
  const ran = await folder.relay(['todo', 'add', 'from below'], { cwd: `${folder.path}/src/deep` });
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(folder.json('todos.json').todos[0].title, 'from below');
});
