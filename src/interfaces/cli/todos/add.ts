import { PRIORITIES } from '../../../client/projects/todos.ts';
import { oneOf } from '../human.ts';
import { needText, projectCommand } from '../projects/project-call.ts';

export default projectCommand({
  stores: true,
  usage: '<title>',
  flags: {
    priority: { value: PRIORITIES.join('|'), help: 'how much it matters (medium)' },
    notes: { value: 'TEXT', help: 'what else there is to know' },
  },
  examples: [['relay todo add "Write the migration" --priority high', 'prints its number']],
  ask: (project, { args, flags }) =>
    project.addTodo({
      title: needText('The title', args[0]),
      priority: oneOf('--priority', flags.priority, PRIORITIES),
      notes: flags.notes,
    }),
  print: ({ id, title }) => `${id}  ${title}`,
});
