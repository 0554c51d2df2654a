import { sortTodos, TODO_STATUSES } from '../../../client/projects/todos.ts';
import { defineCommand } from '../command.ts';
import { oneOf } from '../human.ts';
import { PROJECT_FLAGS, theProject } from '../projects/project-call.ts';
import { todoRows } from './todos.ts';

export default defineCommand({
  flags: {
    all: { help: 'the completed ones too' },
    status: { value: TODO_STATUSES.join('|'), help: 'only these' },
    ...PROJECT_FLAGS,
  },
  examples: [
    ['relay todo list', 'what is open'],
    ['relay todo list --status blocked --json', 'for a program'],
  ],
  async run({ io, host, flags }) {
    const status = oneOf('--status', flags.status, TODO_STATUSES);
    const view = await (await theProject({ io, host, flags })).read();
    for (const sentence of view.broken) io.warn(sentence);
    const todos = sortTodos(view.todos).filter((todo) =>
      status ? todo.status === status : flags.all || todo.status !== 'completed',
    );
    io.result({ todos, last_review: view.lastReview }, () => todoRows(todos, view.now, io));
  },
});
