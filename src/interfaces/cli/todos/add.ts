import { PRIORITIES } from '../../../client/projects/todos.ts';
import { defineCommand } from '../command.ts';
import { oneOf } from '../human.ts';
import { needText, PROJECT_FLAGS, theProject } from '../projects/project-call.ts';

export default defineCommand({
  usage: '<title>',
  flags: {
    priority: { value: PRIORITIES.join('|'), help: 'how much it matters (medium)' },
    notes: { value: 'TEXT', help: 'what else there is to know' },
    ...PROJECT_FLAGS,
  },
  examples: [['relay todo add "Write the migration" --priority high', 'prints its number']],
  async run({ io, host, args, flags }) {
    const todo = await (await theProject({ io, host, flags })).addTodo({
      title: needText('The title', args[0]),
      priority: oneOf('--priority', flags.priority, PRIORITIES),
      notes: flags.notes,
    });
    io.result(todo, `${todo.id}  ${todo.title}`);
  },
});
