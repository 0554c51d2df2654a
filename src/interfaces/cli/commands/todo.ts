import { isRelayError } from '../../../base/errors.ts';
import { plainLine } from '../../../client/projects/brief.ts';
import { ago, timeOf } from '../../../client/projects/files.ts';
import {
  openTodos,
  PRIORITIES,
  sameId,
  sortTodos,
  TODO_STATUSES,
  type Todo,
  type TodoChange,
} from '../../../client/projects/todos.ts';
import { badUsage, type Command, defineCommand, type Flags, refusal } from '../command.ts';
import { oneOf, parseCount } from '../human.ts';
import type { Io } from '../io.ts';
import { inProject, needText, PROJECT_FLAGS, projectCommand, theProject } from '../project-call.ts';

/** Defines a command that changes the status of one todo. */
function defineTodoChange(spec: {
  readonly usage?: string;
  readonly examples: string;
  readonly flags?: Flags;
  change(flags: { readonly [name: string]: string | undefined }): TodoChange;
}): Command {
  return projectCommand({
    stores: true,
    usage: spec.usage ?? '<id>',
    flags: spec.flags,
    examples: spec.examples,
    async ask(project, { io, args, flags, open }) {
      const change = spec.change(flags as { [name: string]: string | undefined });
      const { todo, changed } = await project.changeTodo(args[0]!, change);
      // Release the claim on a completed todo. Ignore a failure, such as an unreachable relay or a claim of
      // another agent: the claim expires anyway.
      if (todo.status === 'completed')
        await open()
          .then(({ relay }) => relay.agents.release(inProject(io.cwd).project, todo.id))
          .catch(() => {});
      return { ...todo, changed };
    },
    print({ id, title, status, changed }) {
      const statusText = status.replace('_', ' ');
      return `${id}  ${changed ? statusText : `was already ${statusText}`}  ${title}`;
    },
  });
}

/** Indentation of notes: the width of the id column. */
const INDENT = ' '.repeat(10);

/** Formats todos as rows, with the notes of blocked todos or, if `notes` is set, of all todos. */
function todoRows(todos: readonly Todo[], { style }: Io, o: { readonly notes?: boolean } = {}): string {
  if (todos.length === 0) return 'No open todos.';
  const paint = { in_progress: style.cyan, blocked: style.red, pending: style.bold, completed: style.dim };
  return todos
    .map((todo) => {
      const at = timeOf(todo.completed_at) ?? timeOf(todo.updated) ?? timeOf(todo.created);
      const status = paint[todo.status](todo.status.replace('_', ' ').padEnd(11));
      const age = at === null ? '' : style.dim(` (${ago(at, Date.now())})`);
      const row = `${todo.id}  ${status}  ${todo.priority.padEnd(6)}  ${plainLine(todo.title)}${age}`;
      const showNotes = o.notes || todo.status === 'blocked';
      const notes = showNotes ? todo.notes.split('\n').map((line) => plainLine(line)) : [];
      return [row, ...notes.filter((line) => line !== '').map((line) => INDENT + style.dim(line))].join('\n');
    })
    .join('\n');
}

const add = projectCommand({
  stores: true,
  usage: '<title>',
  flags: {
    priority: { value: PRIORITIES.join('|'), help: 'priority (medium)' },
    notes: { value: 'TEXT', help: 'additional notes' },
  },
  examples: 'relay todo add "Write the migration" --priority high  # add a todo and print its id',
  ask: (project, { args, flags }) =>
    project.addTodo({
      title: needText('The title', args[0]),
      priority: oneOf('--priority', flags.priority, PRIORITIES),
      notes: flags.notes,
    }),
  print: ({ id, title }) => `${id}  ${title}`,
});

const start = defineTodoChange({
  examples: 'relay todo start TODO-003  # start a todo; you can also write 3',
  change: () => ({ status: 'in_progress' }),
});

const done = defineTodoChange({
  examples: 'relay todo done TODO-003  # complete a todo',
  change: () => ({ status: 'completed' }),
});

const block = defineTodoChange({
  usage: '<id> --reason TEXT',
  examples:
    'relay todo block TODO-003 --reason "no access to the staging database"  # add the reason to its notes',
  flags: { reason: { value: 'TEXT', help: 'why the todo is blocked' } },
  change: (flags) => ({ status: 'blocked', reason: needText('--reason', flags.reason) }),
});

/** Number of todos on a page. */
const PAGE_TODOS = 50;

const list = projectCommand({
  flags: {
    all: { help: 'include completed todos' },
    status: { value: TODO_STATUSES.join('|'), help: 'only todos with this status' },
    count: { short: 'n', value: 'N', help: `show at most N (${PAGE_TODOS})` },
    after: { value: 'ID', help: 'continue after this todo' },
  },
  examples: `
    relay todo list  # list open todos
    relay todo list --after TODO-050  # show the next page
    relay todo list --status blocked --json  # print blocked todos as JSON`,
  async ask(project, { io, flags }) {
    const status = oneOf('--status', flags.status, TODO_STATUSES);
    const { broken, todos: all, lastReview } = await project.read();
    for (const sentence of broken) io.warn(sentence);
    const matching = sortTodos(all).filter((todo) =>
      status ? todo.status === status : flags.all || todo.status !== 'completed',
    );
    const last = matching.findIndex(({ id }) => flags.after !== undefined && sameId('TODO', id, flags.after));
    if (flags.after !== undefined && last < 0)
      throw badUsage(
        `There is no todo ${flags.after} in this list.`,
        'Pass the id of the last todo you saw.',
      );
    const most = parseCount(flags.count, '--count', { min: 1 }) ?? PAGE_TODOS;
    const todos = matching.slice(last + 1, last + 1 + most);
    return {
      todos,
      total: matching.length,
      left: matching.length - last - 1 - todos.length,
      last_review: lastReview,
    };
  },
  print({ todos, total, left }, io) {
    const rows = todoRows(todos, io);
    if (left === 0) return rows;
    const how = io.typed(`relay todo list --after ${todos.at(-1)!.id}`);
    return `${rows}\n${io.style.dim(`${left} of ${total} not shown yet: ${how}, with the same options`)}`;
  },
});

const review = defineCommand({
  details:
    'Lists open todos with age and notes, and sets last_review in todos.json. Then start, complete or block the todos that have changed.',
  flags: PROJECT_FLAGS,
  examples: 'relay todo review  # review once a day',
  async run(call) {
    const { io } = call;
    const all = await (await theProject(call)).reviewTodos();
    const todos = openTodos(all);
    const completed = all.length - todos.length;
    io.result({ todos, completed }, () => todoRows(todos, io, { notes: true }));
    if (io.interactive) io.note('Review recorded. The next one is due in a day.');
  },
});

function findTodo(todos: readonly Todo[], wantedId: string): Todo {
  const found = todos.find(({ id }) => sameId('TODO', id, wantedId));
  if (found) return found;
  throw refusal('not_found', `the todo ${wantedId}`, 'List the todos with: relay todo list');
}

const claim = projectCommand({
  usage: '[id]',
  details: `A claim is a lease of 15 minutes. The hooks of a coding agent renew it (see relay install); without hooks, claim again. Without an id it claims the first pending todo
that nobody holds; the exit code is 1 if there is none. After a claim has expired, others can claim the todo.`,
  examples: `
    relay todo claim  # claim the next free todo and print it
    relay todo claim TODO-003  # claim this todo`,
  async ask(project, { io, args, open }) {
    const { relay } = await open();
    const { project: name } = inProject(io.cwd);
    const { todos } = await project.read();
    const todoId = args[0];
    const candidates =
      todoId === undefined
        ? sortTodos(todos).filter(({ status }) => status === 'pending')
        : [findTodo(todos, todoId)];
    const { claims } = await relay.agents.claims({ project: name });
    const held = new Set(claims.map(({ what }) => what));
    for (const todo of candidates) {
      if (todoId === undefined && held.has(todo.id)) continue;
      try {
        return { todo, claim: await relay.agents.claim(name, todo.id) };
      } catch (error) {
        // Another agent claimed this todo first. Try the next one.
        if (todoId !== undefined || !isRelayError(error, 'claimed')) throw error;
      }
    }
    return { todo: null, claim: null };
  },
  print: ({ todo }) => (todo === null ? 'No free todo.' : `${todo.id}  ${todo.title}`),
  exit: ({ todo }) => (todo === null ? 1 : 0),
});

const release = projectCommand({
  usage: '<id>',
  examples: 'relay todo release TODO-003  # let others claim it',
  async ask(project, { io, args, open }) {
    const { todos } = await project.read();
    const todo = findTodo(todos, args[0]!);
    await (await open()).relay.agents.release(inProject(io.cwd).project, todo.id);
    return todo;
  },
  print: ({ id, title }) => `${id}  free  ${title}`,
});

export const commands = { add, start, done, block, claim, release, list, review };
