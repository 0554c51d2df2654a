import assert from 'node:assert/strict';
import { test } from 'node:test';
import TODOS_SCHEMA from '../../../schemas/todos.schema.json' with { type: 'json' };
import { faults } from './faults.ts';
import { openJsonFile } from './files.ts';
import { stateJson, todosJson } from './new-project.ts';
import { PRIORITIES, TODO_STATUSES } from './todos.ts';

const AT = '2026-04-20T10:00:00+08:00';
const tell = (name: string, text: string) => faults(name, openJsonFile(name, text), 50);
const pretty = (value: unknown) => JSON.stringify(value, null, 1);

test('the schema has the same priorities and statuses as the program', () => {
  const { priority, status } = TODOS_SCHEMA.properties.todos.items.properties;
  assert.deepEqual([priority.enum, status.enum], [[...PRIORITIES], [...TODO_STATUSES]]);
});

test('new files and unknown fields are valid', () => {
  assert.deepEqual(tell('state.json', stateJson(AT)), []);
  assert.deepEqual(tell('todos.json', todosJson(AT)), []);
  const todo = { id: 'TODO-001', title: 't', status: 'pending', estimate: 3 };
  assert.deepEqual(tell('todos.json', pretty({ todos: [todo], mine: {} })), []);
});

test('each broken rule is reported with line and path, in file order', () => {
  const todos = [
    { id: 'one', title: '', status: 'doing' },
    { id: 'TODO-002', title: 'b', status: 'completed', created: 'yesterday' },
    { id: 'TODO-003', title: 'c', status: 'blocked', notes: '' },
    'text',
  ];
  assert.deepEqual(tell('todos.json', pretty({ todos, last_review: 5 })), [
    'todos.json, line 4, todos/0/id: must match ^TODO-\\d{3,}$, not "one".',
    'todos.json, line 5, todos/0/title: must not be empty.',
    'todos.json, line 6, todos/0/status: must be one of "pending", "in_progress", "completed", "blocked", not "doing".',
    'todos.json, line 8, todos/1: "completed_at" is missing.',
    'todos.json, line 12, todos/1/created: must be a date-time, not "yesterday".',
    'todos.json, line 18, todos/2/notes: must not be empty.',
    'todos.json, line 20, todos/3: must be object, not string.',
    'todos.json, line 22, last_review: must be string or null, not 5.',
  ]);
  assert.deepEqual(tell('state.json', '{"phase": 1, "progress": {"completed": "x"}}').slice(0, 3), [
    'state.json, line 1: "current_task" is missing.',
    'state.json, line 1: "last_update" is missing.',
    'state.json, line 1, phase: must be string, not 1.',
  ]);
});
