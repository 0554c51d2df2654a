import * as z from 'zod';
import { badRequest, type RelayError } from '../../../base/errors.ts';
import { PROJECT_TEXT_CHARS } from '../../../base/limits.ts';
import { secretWarning } from '../../../client/projects/brief.ts';
import { oneLine } from '../../../client/projects/decisions.ts';
import { PRIORITIES } from '../../../client/projects/todos.ts';
import { defineTool } from '../tool.ts';

const items = () => z.array(z.string()).optional();

/** Tools for the project files in the folder of the client. Only the stdio server offers them. */
export const PROJECT_TOOLS = [
  defineTool({
    name: 'project_brief',
    description:
      'Read the state, todos and decisions of the project in this folder. Use it at the start of a session.',
    input: z.object({ about: z.string().optional().describe('task or hand-off id') }),
    verb: null,
    local: true,
    doing: 'reading the project',
    run: async ({ about }, { context }) => ({ text: await context.brief!(about) }),
  }),
  defineTool({
    name: 'project_sync',
    description: 'Save the state of the project before you end. New items are added to the lists.',
    input: z.object({
      task: z.string().optional(),
      done: items().describe('steps, or TODO-003'),
      next: items(),
      blocked: items(),
      note: z.string().optional().describe('for the next session'),
    }),
    verb: null,
    local: true,
    writesProject: true,
    doing: 'writing the state',
    async run({ task, note, ...lists }, { context }) {
      const change = {
        task: checkLine('task', task),
        note: checkLine('note', note),
        done: checkLines('done', lists.done),
        next: checkLines('next', lists.next),
        blocked: checkLines('blocked', lists.blocked),
      };
      if (Object.values(change).every((value) => value === undefined))
        throw badRequest('All fields are empty. Pass at least one.');
      const project = await context.project!();
      await project.sync(change);
      return { text: withWarning('Written to state.json.', Object.values(change)) };
    },
  }),
  defineTool({
    name: 'project_todo',
    description: 'Add a todo (title), or change its status (id, status).',
    input: z.object({
      title: z.string().optional(),
      priority: z.enum(PRIORITIES).optional(),
      id: z.string().optional().describe('TODO-003'),
      status: z.enum(['pending', 'in_progress', 'completed', 'blocked']).optional(),
      reason: z.string().optional().describe('why it is blocked'),
    }),
    verb: null,
    local: true,
    writesProject: true,
    doing: 'writing the todo',
    async run({ id, status, ...fields }, { context }) {
      const project = await context.project!();
      const [title, reason] = [checkLine('title', fields.title), checkLine('reason', fields.reason)];
      if (id === undefined) {
        if (title === undefined || status !== undefined) throw missingFields('"title", or "id" and "status"');
        const todo = await project.addTodo({ title, priority: fields.priority });
        return { text: withWarning(`Added ${todo.id}: ${todo.title}`, [title]) };
      }
      if (status === undefined || title !== undefined || fields.priority)
        throw missingFields('"id" and "status"');
      if (status === 'blocked' && reason === undefined)
        throw missingFields('"reason" if status is "blocked"');
      const change = status === 'blocked' ? { status, reason: reason! } : { status };
      const { todo } = await project.changeTodo(id, change);
      return { text: withWarning(`${todo.id} is ${todo.status.replace('_', ' ')}: ${todo.title}`, [reason]) };
    },
  }),
  defineTool({
    name: 'project_decide',
    description: 'Append a decision to decisions.md.',
    input: z.object({
      title: z.string(),
      context: z.string().describe('why it came up'),
      decision: z.string(),
      consequences: z.string(),
      supersedes: items().describe('ADR-001'),
    }),
    verb: null,
    local: true,
    writesProject: true,
    doing: 'writing the decision',
    async run({ supersedes, ...fields }, { context }) {
      for (const [name, text] of Object.entries(fields)) checkLine(name, text);
      const project = await context.project!();
      const id = await project.decide({ ...fields, supersedes });
      return { text: withWarning(`Added ${id}.`, Object.values(fields)) };
    },
  }),
];

function withWarning(answer: string, texts: readonly unknown[]): string {
  const warning = secretWarning(texts);
  return warning === null ? answer : `${answer}\nWarning: ${warning}`;
}

/** Returns a text as one line. Throws if it is empty, or too long: every session reads the project files. */
function checkLine(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const line = oneLine(text);
  if (line === '') throw badRequest(`"${name}" is empty.`);
  if (line.length > PROJECT_TEXT_CHARS) {
    throw badRequest(
      `"${name}" has ${line.length} characters; the limit in project files is ${PROJECT_TEXT_CHARS}.`,
      'Store it with push_context and write its URL instead.',
    );
  }
  return line;
}

function checkLines(name: string, texts: readonly string[] | undefined): string[] | undefined {
  return texts?.map((text) => checkLine(name, text)!);
}

function missingFields(what: string): RelayError {
  return badRequest(`project_todo needs ${what}.`);
}
