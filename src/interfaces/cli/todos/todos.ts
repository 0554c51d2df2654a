import { plainLine } from '../../../client/projects/plain-line.ts';
import { ago, timeOf } from '../../../client/projects/times.ts';
import type { Todo, TodoChange } from '../../../client/projects/todos.ts';
import type { Command, Flags } from '../command.ts';
import type { Io } from '../io.ts';
import { projectCommand } from '../projects/project-call.ts';

/** A command that moves one todo to another status. */
export function defineTodoChange(spec: {
  readonly example: readonly [string, string];
  readonly flags?: Flags;
  change(flags: { readonly [name: string]: string | undefined }): TodoChange;
}): Command {
  return projectCommand({
    stores: true,
    usage: '<id>',
    flags: spec.flags,
    examples: [spec.example],
    async ask(project, { args, flags }) {
      const change = spec.change(flags as { [name: string]: string | undefined });
      const { todo, changed } = await project.changeTodo(args[0]!, change);
      return { ...todo, changed };
    },
    print({ id, title, status, changed }) {
      const words = status.replace('_', ' ');
      return `${id}  ${changed ? words : `was ${words} already`}  ${title}`;
    },
  });
}

/** Below the title's status. */
const INDENT = ' '.repeat(10);

/** Todos as rows for people. */
export function todoRows(
  todos: readonly Todo[],
  { style }: Io,
  o: { readonly notes?: boolean } = {},
): string {
  if (todos.length === 0) return 'No open todos.';
  const paint = { in_progress: style.cyan, blocked: style.red, pending: style.bold, completed: style.dim };
  return todos
    .map((todo) => {
      const at = timeOf(todo.completed_at) ?? timeOf(todo.updated) ?? timeOf(todo.created);
      const status = paint[todo.status](todo.status.replace('_', ' ').padEnd(11));
      const age = at === null ? '' : style.dim(` (${ago(at, Date.now())})`);
      const row = `${todo.id}  ${status}  ${todo.priority.padEnd(6)}  ${plainLine(todo.title)}${age}`;
      const told = o.notes || todo.status === 'blocked';
      const notes = told ? todo.notes.split('\n').map((line) => plainLine(line)) : [];
      return [row, ...notes.filter((line) => line !== '').map((line) => INDENT + style.dim(line))].join('\n');
    })
    .join('\n');
}
