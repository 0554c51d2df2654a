import { openTodos } from '../../../client/projects/todos.ts';
import { defineCommand } from '../command.ts';
import { PROJECT_FLAGS, theProject } from '../projects/project-call.ts';
import { todoRows } from './todos.ts';

export default defineCommand({
  details:
    'Lists what is open with its age and its notes, and stamps last_review. Then start, complete or block what has changed.',
  flags: PROJECT_FLAGS,
  examples: [['relay todo review', 'due once a day']],
  async run(call) {
    const { io } = call;
    const all = await (await theProject(call)).reviewTodos();
    const todos = openTodos(all);
    const completed = all.length - todos.length;
    io.result({ todos, completed }, () => todoRows(todos, io, { notes: true }));
    if (io.interactive) io.note('Reviewed; due again in a day.');
  },
});
