import { needText } from '../projects/project-call.ts';
import { defineTodoChange } from './todos.ts';

export default defineTodoChange({
  example: [
    'relay todo block TODO-003 --reason "no access to the staging database"',
    'the reason goes into its notes',
  ],
  flags: { reason: { value: 'TEXT', help: 'why it cannot go on' } },
  change: (flags) => ({ status: 'blocked', reason: needText('--reason', flags.reason) }),
});
