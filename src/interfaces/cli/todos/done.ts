import { defineTodoChange } from './todos.ts';

export default defineTodoChange({
  example: ['relay todo done TODO-003', 'it is completed, and when is noted'],
  change: () => ({ status: 'completed' }),
});
