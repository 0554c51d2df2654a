import { sortTodos, TODO_STATUSES } from '../../../client/projects/todos.ts';
import { oneOf } from '../human.ts';
import { projectCommand } from '../projects/project-call.ts';
import { todoRows } from './todos.ts';

export default projectCommand({
  flags: {
    all: { help: 'the completed ones too' },
    status: { value: TODO_STATUSES.join('|'), help: 'only these' },
  },
  examples: [
    ['relay todo list', 'what is open'],
    ['relay todo list --status blocked --json', 'for a program'],
  ],
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
