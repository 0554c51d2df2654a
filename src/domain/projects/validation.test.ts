import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseJsonText } from '../../base/json-syntax.ts';
import { STATE_SCHEMA, TODOS_SCHEMA } from './schemas.ts';
import { stateJson, todosJson } from './templates.ts';
import { violations } from './validation.ts';

const AT = '2026-04-20T10:00:00+08:00';
const tell = (schema: typeof STATE_SCHEMA, value: unknown) =>
  violations(schema, parseJsonText(JSON.stringify(value))).map(({ path, what }) => `${path} ${what}`);

test('the published schemas are the ones in use', () => {
  for (const [name, schema] of [
    ['state', STATE_SCHEMA],
    ['todos', TODOS_SCHEMA],
  ] as const) {
    const published = readFileSync(new URL(`../../../schemas/${name}.schema.json`, import.meta.url), 'utf8');
    assert.deepEqual(JSON.parse(published), JSON.parse(JSON.stringify(schema)), `${name}.schema.json`);
  }
});

test('new files and unknown fields break nothing', () => {
  assert.deepEqual(violations(STATE_SCHEMA, parseJsonText(stateJson(AT))), []);
  assert.deepEqual(violations(TODOS_SCHEMA, parseJsonText(todosJson(AT))), []);
  const todo = { id: 'TODO-001', title: 't', status: 'pending', estimate: 3 };
  assert.deepEqual(tell(TODOS_SCHEMA, { todos: [todo], mine: {} }), []);
});

test('what breaks a rule is named with its path', () => {
  const todos = [
    { id: 'one', title: '', status: 'doing' },
    { id: 'TODO-002', title: 'b', status: 'completed', created: 'yesterday' },
    { id: 'TODO-003', title: 'c', status: 'blocked', notes: '' },
    'text',
  ];
  assert.deepEqual(tell(TODOS_SCHEMA, { todos, last_review: 5 }), [
    'todos/0/id must look like ^TODO-\\d{3,}$, not "one"',
    'todos/0/title must not be empty',
    'todos/0/status must be one of pending, in_progress, completed, blocked, not "doing"',
    'todos/1 has no "completed_at"',
    'todos/1/created must be a date and time, not "yesterday"',
    'todos/2/notes must not be empty',
    'todos/3 must be an object, not a string',
    'last_review must be a string or null, not a number',
  ]);
  assert.deepEqual(tell(STATE_SCHEMA, { phase: 1, progress: { completed: 'x' } }).slice(0, 3), [
    ' has no "current_task"',
    ' has no "last_update"',
    'phase must be a string, not a number',
  ]);
});
