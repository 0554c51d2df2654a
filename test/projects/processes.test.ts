import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openProject } from '../../src/app/projects/project-files.ts';
import { ScratchFolder } from './scratch-folder.ts';

const WRITERS = 8;
const TODOS_EACH = 15;
const WRITER = join(import.meta.dirname, 'todo-writer.ts');

function runWriter(folder: string, name: string): Promise<number | null> {
  const child = spawn(process.execPath, [WRITER, folder, name, String(TODOS_EACH)], { stdio: 'inherit' });
  return new Promise((done) => child.once('close', done));
}

test('eight processes that add and finish todos at once lose none', async () => {
  using folder = new ScratchFolder();
  await openProject(folder.path).init();
  const codes = await Promise.all(Array.from({ length: WRITERS }, (_, n) => runWriter(folder.path, `w${n}`)));
  assert.deepEqual(codes, Array(WRITERS).fill(0));
  const { todos } = folder.json('todos.json') as { todos: { id: string; title: string; status: string }[] };
  assert.equal(todos.length, WRITERS * TODOS_EACH);
  assert.deepEqual(
    todos.map(({ id }) => id),
    todos.map((_, n) => `TODO-${String(n + 1).padStart(3, '0')}`),
  );
  for (let w = 0; w < WRITERS; w++) {
    for (let n = 0; n < TODOS_EACH; n++) {
      const todo = todos.find(({ title }) => title === `w${w}-${n}`);
      assert.equal(todo?.status, n % 2 === 0 ? 'completed' : 'pending', `w${w}-${n}`);
    }
  }
  assert.equal(folder.json('state.json').progress.completed.length, WRITERS * 3);
  assert.deepEqual(readdirSync(join(folder.path, '.relay')), ['.gitignore', 'decisions.json']);
});

test('concurrent commands of the real program all take effect', async () => {
  using folder = new ScratchFolder();
  await openProject(folder.path).init();
  const lines = Array.from({ length: 3 }, (_, n) => [
    folder.relay(['decide', `D${n}`, '--context', 'c', '--decision', 'd', '--consequences', 'e']),
    folder.relay(['project', 'handoff', `task ${n}`]),
  ]).flat();
  for (const ran of await Promise.all(lines)) assert.equal(ran.code, 0, ran.stderr);
  const numbers = [...folder.read('decisions.md').matchAll(/^## (ADR-\d+): D\d$/gm)].map((match) => match[1]);
  assert.deepEqual(numbers, ['ADR-001', 'ADR-002', 'ADR-003']);
  assert.equal(folder.json('state.json').handoffs.length, 3);
});

test('the lock of a dead process is taken over, and the lock of a living process is respected', async () => {
  using folder = new ScratchFolder();
  const project = openProject(folder.path);
  await project.init();
  const lock = join(folder.path, '.relay', 'project.lock');
  const hold = (pid: number, host = hostname()) =>
    writeFileSync(lock, JSON.stringify({ pid, host, token: 'other' }));

  const dead = spawn(process.execPath, ['-e', '0']);
  await new Promise((done) => dead.once('close', done));
  hold(dead.pid!);
  assert.equal((await project.addTodo({ title: 'after a crash' })).id, 'TODO-001');

  hold(process.pid);
  const waiting = project.addTodo({ title: 'after a while' });
  await new Promise((done) => setTimeout(done, 100));
  assert.equal(folder.json('todos.json').todos.length, 1);
  // A lock this old is stale, even if its process is on another machine and cannot be checked.
  hold(1, 'elsewhere');
  const old = new Date(Date.now() - 120_000);
  utimesSync(lock, old, old);
  assert.equal((await waiting).id, 'TODO-002');
  assert.ok(!existsSync(lock));
});

test('a process that lost its lock while it was suspended does not write', async () => {
  using folder = new ScratchFolder();
  const project = openProject(folder.path);
  await project.init();
  const lock = join(folder.path, '.relay', 'project.lock');
  const before = folder.read('todos.json');
  await assert.rejects(
    project.files.locked(async () => {
      writeFileSync(lock, JSON.stringify({ pid: process.pid, host: hostname(), token: 'new owner' }));
      await project.files.write('todos.json', '{"todos":[]}');
    }),
    { code: 'project_locked' },
  );
  assert.equal(folder.read('todos.json'), before);
  assert.ok(existsSync(lock), 'the new owner keeps it');
});

test('a symlink to a project file stays a symlink, and the file keeps its mode', async () => {
  using folder = new ScratchFolder();
  const { chmodSync, lstatSync, statSync, symlinkSync, renameSync } = await import('node:fs');
  const project = openProject(folder.path);
  await project.init();
  const elsewhere = join(folder.root, 'elsewhere');
  mkdirSync(elsewhere);
  renameSync(join(folder.path, 'todos.json'), join(elsewhere, 'todos.json'));
  chmodSync(join(elsewhere, 'todos.json'), 0o640);
  symlinkSync('../elsewhere/todos.json', join(folder.path, 'todos.json'));
  await openProject(folder.path, { followLinks: true }).addTodo({ title: 'through a link' });
  assert.ok(lstatSync(join(folder.path, 'todos.json')).isSymbolicLink());
  assert.equal(statSync(join(elsewhere, 'todos.json')).mode & 0o777, 0o640);
  assert.equal(folder.json('todos.json').todos.length, 1);
});
