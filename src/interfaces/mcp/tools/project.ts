import * as z from 'zod';
import { defineTool } from '../tool.ts';

export const projectBrief = defineTool({
  name: 'project_brief',
  description:
    'Where the project in this folder stands: state, todos, decisions. For a session that remembers nothing.',
  input: z.object({ about: z.string().optional().describe('a task, or a hand-off id') }),
  verb: null,
  local: true,
  doing: 'reading the project',
  run: async ({ about }, { desk }) => ({ text: await desk.brief!(about) }),
});
