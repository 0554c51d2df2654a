import { z } from 'zod';
import { count, nullableText, type SchemaRows, type Shape, text, time } from './shapes.ts';

const about = {
  id: text,
  name: text,
  description: nullableText,
  /** Name of the folder of the repository. Claims, sessions and costs refer to the project by this name. */
  folder: text,
  /** Problems of the project files, one sentence each. */
  broken: z.array(text),
  /** Time of the last change of a project file. Null if there are no project files. */
  modified_at: time.nullable(),
};

const projectItem = z.object({
  ...about,
  todos: z.object({ open: count, blocked: count, done: count }),
  decisions: count,
});
/** A project whose folder the server is configured to show. The server never writes to the folder. */
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
  /** Id such as `ADR-001`. */
  id: text,
  title: text,
  date: nullableText,
  status: text,
  decision: text,
  /** True if a later decision replaces this one. */
  superseded: z.boolean(),
});
export interface ProjectDecision extends Shape<typeof decision> {}

const projectState = z.object({
  phase: nullableText,
  current_task: nullableText,
  in_progress: nullableText,
  blocked: z.array(text),
  next_steps: z.array(text),
  notes: nullableText,
  last_update: nullableText,
});

const handoff = z.object({
  id: text,
  task: text,
  status: z.enum(['open', 'done', 'failed']),
  created: nullableText,
  /** Time at which the result is due. */
  deadline: nullableText,
  result: nullableText,
});

const projectView = z.object({
  ...about,
  /** Output of `relay project start`, without the information from git. */
  brief: text,
  todos: z.array(todo),
  decisions: z.array(decision),
  /** State that the last session left. Null if there is none. */
  state: projectState.nullable(),
  /** Hand-offs between sessions, newest first. */
  handoffs: z.array(handoff),
});
export interface ProjectView extends Shape<typeof projectView> {}

export const projectSchemas = {
  list: { input: z.object({}), output: z.object({ projects: z.array(projectItem) }) },
  get: { input: z.object({ id: z.string().max(64) }), output: projectView },
} satisfies SchemaRows;
