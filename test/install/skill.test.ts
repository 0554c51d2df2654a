import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import type { Node } from '../../src/interfaces/cli/command.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';

const SKILL = resolve(import.meta.dirname, '../../skill/context-relay');
const SCRIPT = join(SKILL, 'scripts', 'init_context.py');
const text = readFileSync(join(SKILL, 'SKILL.md'), 'utf8');

/** Parses the front matter. Skills may use only scalars, folded text and one level of strings. */
function frontMatter(): { [key: string]: string } {
  const block = /^---\n([\s\S]*?)\n---\n/
    .exec(text)![1]!
    .replace(/>-\n((?: {2}.*\n?)+)/g, (_, lines: string) => `${lines.replace(/\s+/g, ' ').trim()}\n`);
  return Object.fromEntries(
    [...block.matchAll(/^([a-z-]+): ?(.*)$/gm)].map((match) => [match[1]!, match[2]!.trim()]),
  );
}

test('the skill follows the format for skills and names its triggers', () => {
  const { name, description, license, compatibility, metadata, ...rest } = frontMatter();
  assert.equal(name, 'context-relay');
  assert.match(name!, /^[a-z0-9-]{1,64}$/);
  assert.ok(description!.length > 0 && description!.length <= 1024, String(description!.length));
  assert.ok(compatibility!.length <= 500);
  assert.deepEqual([license, metadata, rest], ['MIT', '', {}]);
  assert.match(text, /^metadata:\n {2}source: contextrelay\n {2}version: "\d/m);
  for (const trigger of [
    'memory fragmentation',
    'cross-session',
    'context passing',
    'context relay',
    'session restart',
    'sub-agent communication',
    'persistent context',
    'project state management',
    'cold start',
  ]) {
    assert.ok(description!.toLowerCase().includes(trigger), trigger);
  }
  assert.ok(text.split('\n').length < 500, 'short enough to be read whole');
});

test('every file that the skill links to exists, and so does every command that it names', async () => {
  const files = readdirSync(SKILL, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith('.md'),
  );
  const { ROOT } = await import('../../src/interfaces/cli/commands.ts');
  for (const file of files) {
    const content = readFileSync(join(file.parentPath, file.name), 'utf8');
    for (const [, link] of content.matchAll(/\]\(([^)#]+)\)/g))
      assert.ok(existsSync(join(file.parentPath, link!)), link!);
    for (const [, path] of content.matchAll(/`relay ((?:[a-z]+ ?)+)/g)) {
      let node: Node = ROOT;
      for (const word of path!.trim().split(' ')) {
        if (!('commands' in node)) break;
        assert.ok(Object.hasOwn(node.commands, word), `relay ${path}`);
        node = node.commands[word]!;
      }
    }
  }
});

const python = spawnSync('python3', ['--version']).status === 0;

test('the script writes files that the commands accept, and overwrites existing ones only with --force', {
  skip: python ? false : 'there is no python3',
}, async () => {
  using folder = new ScratchFolder();
  folder.write('package.json', '{"name": "tea", "description": "Sells\\n tea"}');
  folder.write('src/a.ts', '');
  folder.write('decisions.md', 'mine\n');
  const run = (...args: string[]) =>
    spawnSync('python3', ['-I', SCRIPT, ...args], { cwd: folder.path, encoding: 'utf8' });
  const first = run();
  assert.equal(first.status, 0, first.stderr);
  assert.equal(
    first.stdout,
    'wrote  PROJECT.md\nwrote  state.json\nwrote  todos.json\nkept   decisions.md (it already exists)\n',
  );
  assert.equal(folder.read('decisions.md'), 'mine\n');
  assert.match(folder.read('PROJECT.md'), /^# tea\n\n## One-Line Description\nSells tea\n/);
  const files = Object.fromEntries(
    ['PROJECT.md', 'state.json', 'todos.json'].map((name) => [name, folder.read(name)]),
  );
  assert.equal(run('--force', folder.path).status, 0);
  assert.equal(folder.read('decisions.md'), '# Architecture Decision Records\n');
  const check = await folder.relay(['project', 'check']);
  assert.equal(check.code, 0, check.stdout);
  assert.equal((await folder.relay(['todo', 'add', 'x'])).code, 0);

  // The files of the script have the same headings and fields as those of `relay project init`.
  const shape = (markdown: string) =>
    markdown.split('\n').filter((line) => line.startsWith('#') || line.startsWith('- '));
  await folder.relay(['project', 'init', '--force']);
  assert.deepEqual(
    shape(files['PROJECT.md']!).map((line) => line.split(':')[0]),
    shape(folder.read('PROJECT.md')).map((line) => line.split(':')[0]),
  );
  assert.deepEqual(Object.keys(JSON.parse(files['state.json']!)), Object.keys(folder.json('state.json')));
  assert.deepEqual(Object.keys(JSON.parse(files['todos.json']!)), Object.keys(folder.json('todos.json')));
  assert.equal(run('nowhere').status, 1);
});
