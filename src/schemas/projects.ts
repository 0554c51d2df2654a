import { z } from 'zod';
import { projects } from '../contract/projects.ts';
import { schemasFor } from './schema.ts';
import { count, nullableText, text, time } from './shapes.ts';

const about = {
  id: text,
  name: text,
  description: nullableText,
  broken: z.array(text),
  modified_at: time.nullable(),
};

const todo = z.object({
  id: text,
  title: text,
  status: text,
  priority: text,
  notes: text,
  created: nullableText,
  completed_at: nullableText,
});

const decision = z.object({
  id: text,
  title: text,
  date: nullableText,
  status: text,
  decision: text,
  superseded: z.boolean(),
});

export const projectSchemas = schemasFor(projects)({
  list: {
    input: z.object({}),
    output: z.object({
      projects: z.array(
        z.object({
          ...about,
          todos: z.object({ open: count, blocked: count, done: count }),
          decisions: count,
        }),
      ),
    }),
  },
  get: {
    input: z.object({ id: z.string().max(64) }),
    output: z.object({ ...about, brief: text, todos: z.array(todo), decisions: z.array(decision) }),
  },
});
