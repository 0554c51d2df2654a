import { defineTodoChange } from './todos.ts';

export default defineTodoChange({
  example: ['relay todo start TODO-003', 'it is in progress now; 3 means the same one'],
  change: () => ({ status: 'in_progress' }),
});
