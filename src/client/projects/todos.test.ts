import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openJsonFile } from './files.ts';
import { addTodo, changeTodo, readTodos, reviewTodos, sortTodos } from './todos.ts';

const AT = '2026-04-20T10:00:00+08:00';
const LATER = '2026-04-21T11:00:00+08:00';
const HAND_MADE =
  '{\r\n\t"owner": "ann",\r\n\t"last_review": "2026-04-19T10:00:00+08:00",\r\n\t"todos": [\r\n\t\t{ "title": "One", "id": "TODO-007", "status": "pending", "estimate": 3, "notes": "ask Bo" },\r\n\t\t"a line by hand"\r\n\t]\r\n}';

const open = (text: string) => openJsonFile('todos.json', text);

test('a new todo gets the number after the highest, and every field of the format', () => {
  const doc = open(HAND_MADE);
  const todo = addTodo(doc, { title: 'Two', priority: 'high' }, AT);
  assert.equal(todo.id, 'TODO-008');
  assert.deepEqual(doc.get(['todos', 2]), {
    id: 'TODO-008',
    title: 'Two',
    priority: 'high',
    status: 'pending',
    created: AT,
    updated: null,
    notes: '',
  });
  assert.ok(doc.text.startsWith(HAND_MADE.slice(0, HAND_MADE.indexOf('"a line by hand"'))));
  assert.ok(!/[^\r]\n/.test(doc.text));
});

test('starting, blocking and completing follow the rules and keep unknown fields', () => {
  const doc = open(HAND_MADE);
  changeTodo(doc, '7', { status: 'in_progress' }, AT);
  changeTodo(doc, 'todo-7', { status: 'blocked', reason: 'no access' }, AT);
  assert.equal(doc.get(['todos', 0, 'notes']), 'ask Bo\nBlocked: no access');
  changeTodo(doc, 'TODO-007', { status: 'blocked', reason: 'still none' }, AT);
  assert.equal(doc.get(['todos', 0, 'notes']), 'ask Bo\nBlocked: still none');
  const { todo, changed } = changeTodo(doc, 'TODO-007', { status: 'completed' }, LATER);
  assert.ok(changed);
  assert.deepEqual([todo.status, todo.completed_at, todo.updated], ['completed', LATER, LATER]);
  assert.equal(doc.get(['todos', 0, 'estimate']), 3);
  assert.equal(doc.get(['todos', 1]), 'a line by hand');
  assert.deepEqual(Object.keys(doc.get() as object), ['owner', 'last_review', 'todos']);
});

test('completing a completed todo changes nothing, and starting it again removes the completion time', () => {
  const doc = open(HAND_MADE);
  changeTodo(doc, '7', { status: 'completed' }, AT);
  const once = doc.text;
  assert.equal(changeTodo(doc, '7', { status: 'completed' }, LATER).changed, false);
  assert.equal(doc.text, once);
  changeTodo(doc, '7', { status: 'in_progress' }, LATER);
  assert.equal(doc.get(['todos', 0, 'completed_at']), undefined);
});

test('an unknown number is rejected with the command that lists the todos', () => {
  assert.throws(() => changeTodo(open(HAND_MADE), 'TODO-099', { status: 'completed' }, AT), {
    code: 'no_entry',
    message: 'todos.json has no todo TODO-099.',
  });
});

test('a todos field that is not a list is reported with its place and not changed', () => {
  const doc = open('{\n  "todos": "later"\n}');
  assert.throws(() => addTodo(doc, { title: 'x' }, AT), {
    code: 'bad_file',
    message: 'todos.json cannot be used: "todos" must be an array (line 2, column 12). It was left as it is.',
  });
});

test('a review records its time, and todos are sorted into started, blocked and next', () => {
  const doc = open(HAND_MADE);
  reviewTodos(doc, LATER);
  assert.equal(doc.get(['last_review']), LATER);
  const todo = (id: string, status: 'pending' | 'blocked' | 'in_progress', priority: 'high' | 'low') => ({
    id,
    status,
    priority,
  });
  const sorted = sortTodos([
    todo('a', 'pending', 'low'),
    todo('b', 'blocked', 'low'),
    todo('c', 'pending', 'high'),
    todo('d', 'in_progress', 'low'),
  ]);
  assert.deepEqual(
    sorted.map(({ id }) => id),
    ['d', 'b', 'c', 'a'],
  );
  assert.equal(readTodos(doc)[0]!.line, 5);
});
