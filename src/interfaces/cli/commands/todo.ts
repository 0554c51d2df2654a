import { plainLine } from '../../../client/projects/brief.ts';
import { ago, timeOf } from '../../../client/projects/files.ts';
import {
  openTodos,
  PRIORITIES,
  sortTodos,
  TODO_STATUSES,
  type Todo,
  type TodoChange,
} from '../../../client/projects/todos.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { oneOf } from '../human.ts';
import type { Io } from '../io.ts';
import { needText, PROJECT_FLAGS, projectCommand, theProject } from './project-call.ts';

/** A command that moves one todo to another status. */
function defineTodoChange(spec: {
  readonly examples: string;
  readonly flags?: Flags;
  change(flags: { readonly [name: string]: string | undefined }): TodoChange;
}): Command {
  return projectCommand({
    stores: true,
    usage: '<id>',
    flags: spec.flags,
    examples: spec.examples,
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
function todoRows(todos: readonly Todo[], { style }: Io, o: { readonly notes?: boolean } = {}): string {
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

const add = projectCommand({
  stores: true,
  usage: '<title>',
  flags: {
    priority: { value: PRIORITIES.join('|'), help: 'how much it matters (medium)' },
    notes: { value: 'TEXT', help: 'what else there is to know' },
  },
  examples: 'relay todo add "Write the migration" --priority high  # prints its number',
  ask: (project, { args, flags }) =>
    project.addTodo({
      title: needText('The title', args[0]),
      priority: oneOf('--priority', flags.priority, PRIORITIES),
      notes: flags.notes,
    }),
  print: ({ id, title }) => `${id}  ${title}`,
});

const start = defineTodoChange({
  examples: 'relay todo start TODO-003  # it is in progress now; 3 means the same one',
  change: () => ({ status: 'in_progress' }),
});

const done = defineTodoChange({
  examples: 'relay todo done TODO-003  # it is completed, and when is noted',
  change: () => ({ status: 'completed' }),
});

const block = defineTodoChange({
  examples:
    'relay todo block TODO-003 --reason "no access to the staging database"  # the reason goes into its notes',
  flags: { reason: { value: 'TEXT', help: 'why it cannot go on' } },
  change: (flags) => ({ status: 'blocked', reason: needText('--reason', flags.reason) }),
});

const list = projectCommand({
  flags: {
    all: { help: 'the completed ones too' },
    status: { value: TODO_STATUSES.join('|'), help: 'only these' },
  },
  examples: `
    relay todo list  # what is open
    relay todo list --status blocked --json  # for a program`,
  async ask(project, { io, flags }) {
    const status = oneOf('--status', flags.status, TODO_STATUSES);
    const { broken, todos: all, lastReview } = await project.read();
    for (const sentence of broken) io.warn(sentence);
    const todos = sortTodos(all).filter((todo) =>
      status ? todo.status === status : flags.all || todo.status !== 'completed',
    );
    return { todos, last_review: lastReview };
  },
  print: ({ todos }, io) => todoRows(todos, io),
});

const review = defineCommand({
  details:
    'Lists what is open with its age and its notes, and stamps last_review. Then start, complete or block what has changed.',
  flags: PROJECT_FLAGS,
  examples: 'relay todo review  # due once a day',
  async run(call) {
    const { io } = call;
    const all = await (await theProject(call)).reviewTodos();
    const todos = openTodos(all);
    const completed = all.length - todos.length;
    io.result({ todos, completed }, () => todoRows(todos, io, { notes: true }));
    if (io.interactive) io.note('Reviewed; due again in a day.');
  },
});

export const commands = { add, start, done, block, list, review };
