import { z } from 'zod';
import { count, nullableText, type SchemaRows, type Shape, text, time } from './shapes.ts';

const about = {
  id: text,
  name: text,
  description: nullableText,
  /** What is wrong with the files, a sentence each. */
  broken: z.array(text),
  /** When one of the files was last changed; null where there is none. */
  modified_at: time.nullable(),
};

const projectItem = z.object({
  ...about,
  todos: z.object({ open: count, blocked: count, done: count }),
  decisions: count,
});
/** A project whose folder the server was told to show. Nothing is ever written into it. */
export interface ProjectItem extends Shape<typeof projectItem> {}

const todo = z.object({
  id: text,
  title: text,
  status: text,
  priority: text,
  notes: text,
  created: nullableText,
  completed_at: nullableText,
});
export interface ProjectTodo extends Shape<typeof todo> {}

const decision = z.object({
  /** `ADR-001`. */
  id: text,
  title: text,
  date: nullableText,
  status: text,
  decision: text,
  /** A later one replaces it. */
  superseded: z.boolean(),
});
export interface ProjectDecision extends Shape<typeof decision> {}

const projectView = z.object({
  ...about,
  /** What `relay project start` says, without what only git knows. */
  brief: text,
  todos: z.array(todo),
  decisions: z.array(decision),
});
export interface ProjectView extends Shape<typeof projectView> {}

export const projectSchemas = {
  list: { input: z.object({}), output: z.object({ projects: z.array(projectItem) }) },
  get: { input: z.object({ id: z.string().max(64) }), output: projectView },
} satisfies SchemaRows;
