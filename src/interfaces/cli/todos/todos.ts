import { plainLine } from '../../../client/projects/plain-line.ts';
import { ago, timeOf } from '../../../client/projects/times.ts';
import type { Todo, TodoChange } from '../../../client/projects/todos.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import type { Io } from '../io.ts';
import { PROJECT_FLAGS, theProject } from '../projects/project-call.ts';

/** A command that moves one todo to another status. */
export function defineTodoChange(spec: {
  readonly example: readonly [string, string];
  readonly flags?: Flags;
  change(flags: { readonly [name: string]: string | undefined }): TodoChange;
}): Command {
  return defineCommand({
    usage: '<id>',
    flags: { ...spec.flags, ...PROJECT_FLAGS },
    examples: [spec.example],
    async run({ io, host, args, flags }) {
      const change = spec.change(flags as { [name: string]: string | undefined });
      const project = await theProject({ io, host, flags });
      const { todo, changed } = await project.changeTodo(args[0]!, change);
      const status = todo.status.replace('_', ' ');
      io.result(
        { ...todo, changed },
        `${todo.id}  ${changed ? status : `was ${status} already`}  ${todo.title}`,
      );
    },
  });
}

/** Below the title's status. */
const INDENT = ' '.repeat(10);

/** Todos as rows for people. */
export function todoRows(
  todos: readonly Todo[],
  now: number,
  io: Io,
  o: { readonly notes?: boolean } = {},
): string {
  if (todos.length === 0) return 'No open todos.';
  const { style } = io;
  const paint = { in_progress: style.cyan, blocked: style.red, pending: style.bold, completed: style.dim };
  return todos
    .map((todo) => {
      const at = timeOf(todo.completed_at) ?? timeOf(todo.updated) ?? timeOf(todo.created);
      const status = paint[todo.status](todo.status.replace('_', ' ').padEnd(11));
      const age = at === null ? '' : style.dim(` (${ago(at, now)})`);
      const row = `${todo.id}  ${status}  ${todo.priority.padEnd(6)}  ${plainLine(todo.title)}${age}`;
      const told = (o.notes || todo.status === 'blocked') && todo.notes !== '';
      return told ? [row, ...noteLines(todo.notes).map((line) => INDENT + style.dim(line))].join('\n') : row;
    })
    .join('\n');
}

function noteLines(notes: string): string[] {
  return notes
    .split('\n')
    .map((line) => plainLine(line))
    .filter((line) => line !== '');
}
