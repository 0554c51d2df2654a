import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import type { JsonDocument } from '../../formats/json-document.ts';
import { needKind, TODOS_JSON, timeOf } from './files.ts';

export const PRIORITIES = ['high', 'medium', 'low'] as const;
export const TODO_STATUSES = ['pending', 'in_progress', 'completed', 'blocked'] as const;
type Priority = (typeof PRIORITIES)[number];
type TodoStatus = (typeof TODO_STATUSES)[number];

export type Todo = Readonly<ReturnType<typeof todoOf>>;

/**
 * Parses the todos in a document, with their lines. An unknown status counts as pending, an unknown priority
 * as medium.
 */
export function readTodos(doc: JsonDocument): Todo[] {
  return todosIn(doc.get(), (index) => doc.place(['todos', index]).line);
}

/** Parses the todos in the parsed content of todos.json. */
export function todosIn(file: Json | undefined, lineOf?: (index: number) => number): Todo[] {
  const list = isJsonObject(file) && Array.isArray(file.todos) ? file.todos : [];
  return list.flatMap((entry, index) =>
    isJsonObject(entry) ? [todoOf(entry, index, lineOf?.(index) ?? null)] : [],
  );
}

function todoOf(entry: JsonObject, index: number, line: number | null) {
  const text = (name: string) => {
    const value = entry[name];
    return typeof value === 'string' ? value : null;
  };
  return {
    id: text('id') ?? `#${index + 1}`,
    title: text('title') ?? '',
    priority: oneOf(PRIORITIES, text('priority')) ?? ('medium' as const),
    status: oneOf(TODO_STATUSES, text('status')) ?? ('pending' as const),
    created: text('created'),
    updated: text('updated'),
    completed_at: text('completed_at'),
    notes: text('notes') ?? '',
    /** Line of the todo in todos.json. Null if the line was not looked up. */
    line,
  };
}

function todoAt(doc: JsonDocument, index: number): Todo {
  return todoOf(doc.get(['todos', index]) as JsonObject, index, doc.place(['todos', index]).line);
}

export interface NewTodo {
  readonly title: string;
  readonly priority?: Priority;
  readonly notes?: string;
}

/** Adds a pending todo. Its number follows the highest number in the file. */
export function addTodo(doc: JsonDocument, todo: NewTodo, at: string): Todo {
  needKind(TODOS_JSON, doc, ['todos'], 'array');
  const id = nextId('TODO', todosIn(doc.get()));
  doc.append(['todos'], {
    id,
    title: todo.title,
    priority: todo.priority ?? 'medium',
    status: 'pending',
    created: at,
    updated: null,
    notes: todo.notes ?? '',
  });
  return todoAt(doc, (doc.get(['todos']) as Json[]).length - 1);
}

export type TodoChange =
  | { readonly status: 'in_progress' | 'completed' | 'pending' }
  | { readonly status: 'blocked'; readonly reason: string };

/**
 * Changes the status of a todo. A completed todo gets a completion time, a blocked todo gets a reason in its
 * notes. Every change sets `updated`.
 */
export function changeTodo(doc: JsonDocument, id: string, change: TodoChange, at: string) {
  const index = findTodo(doc, id);
  const before = doc.text;
  const set = (name: string, value: Json) => doc.set(['todos', index, name], value);
  const { status, notes, completed_at } = todoAt(doc, index);
  set('status', change.status);
  if (change.status === 'blocked') set('notes', withReason(notes, change.reason));
  if (change.status === 'completed') {
    if (timeOf(completed_at) === null) set('completed_at', at);
  } else if (status === 'completed') doc.remove(['todos', index, 'completed_at']);
  const changed = doc.text !== before;
  if (changed) set('updated', at);
  return { todo: todoAt(doc, index), changed };
}

export function reviewTodos(doc: JsonDocument, at: string): Todo[] {
  return readTodos(doc.set(['last_review'], at));
}

const RANK: { readonly [S in TodoStatus]: number } = { in_progress: 0, blocked: 1, pending: 2, completed: 3 };

/**
 * Sorts todos by status (in progress, blocked, pending, completed), then by priority. Todos that are equal in
 * both stay in file order.
 */
export function sortTodos<T extends Pick<Todo, 'status' | 'priority'>>(todos: readonly T[]): T[] {
  return todos.toSorted(
    (a, b) =>
      RANK[a.status] - RANK[b.status] || PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority),
  );
}

/** Returns the todos that are not completed, sorted with `sortTodos`. */
export function openTodos(todos: readonly Todo[]): Todo[] {
  return sortTodos(todos.filter(({ status }) => status !== 'completed'));
}

/**
 * Returns the id that follows the highest number, such as `TODO-004` after `TODO-003`. Gaps are not filled.
 */
export function nextId(prefix: string, entries: readonly { readonly id: string }[]): string {
  const numbers = entries.map(({ id }) => numberIn(prefix, id) ?? 0);
  return `${prefix}-${String(Math.max(0, ...numbers) + 1).padStart(3, '0')}`;
}

/** Returns whether two ids mean the same entry, as `TODO-003`, `todo-3` and `3` do. */
export function sameId(prefix: string, a: string, b: string): boolean {
  if (a.toLowerCase() === b.toLowerCase()) return true;
  const number = numberIn(prefix, a);
  return number !== null && number === numberIn(prefix, b);
}

function numberIn(prefix: string, id: string): number | null {
  const found = new RegExp(`^(?:${prefix}-)?(\\d{1,9})$`, 'i').exec(id.trim());
  return found ? Number(found[1]) : null;
}

function findTodo(doc: JsonDocument, id: string): number {
  needKind(TODOS_JSON, doc, ['todos'], 'array');
  const list = (doc.get(['todos']) ?? []) as Json[];
  const index = list.findIndex((todo) => {
    const own = (todo as JsonObject | null)?.id;
    return typeof own === 'string' && sameId('TODO', own, id);
  });
  if (index < 0) {
    throw new RelayError('no_entry', { file: TODOS_JSON, what: `todo ${id}`, list: 'relay todo list --all' });
  }
  return index;
}

/**
 * Writes the reason into the last line of the notes. Replaces an earlier reason in that line, and keeps all
 * other notes.
 */
function withReason(notes: string, reason: string): string {
  const rest = notes.replace(/(?:^|\n)Blocked: [^\n]*$/, '');
  return rest === '' ? `Blocked: ${reason}` : `${rest}\nBlocked: ${reason}`;
}

function oneOf<T extends string>(allowed: readonly T[], word: string | null): T | null {
  return allowed.includes(word as T) ? (word as T) : null;
}
