import type { JsonObject } from '../../base/json.ts';

/** Published as schemas/state.schema.json and schemas/todos.schema.json; a test holds the copies to these. */

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

const TIME: JsonObject = {
  type: ['string', 'null'],
  format: 'date-time',
  description: 'ISO 8601 with an offset, such as 2026-04-20T10:00:00+08:00',
};
const TEXTS: JsonObject = { type: 'array', items: { type: 'string' } };

export const STATE_SCHEMA: JsonObject = {
  $schema: DRAFT,
  title: 'state.json: where a project stands',
  description: 'Fields that are not named here are allowed everywhere and are kept.',
  type: 'object',
  required: ['phase', 'current_task', 'progress', 'last_update'],
  properties: {
    phase: { type: 'string', description: 'The stage the project is in, in a word or two' },
    current_task: { type: ['string', 'null'], description: 'What is being worked on' },
    progress: {
      type: 'object',
      required: ['completed', 'in_progress', 'blocked', 'next_steps'],
      properties: {
        completed: TEXTS,
        in_progress: { type: ['string', 'null'] },
        blocked: TEXTS,
        next_steps: TEXTS,
      },
    },
    last_update: TIME,
    session_id: { type: ['string', 'null'], description: 'The session that wrote last' },
    notes: { type: 'string' },
    handoffs: {
      description: 'Tasks given to sub-agents, and what came back',
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'task', 'expected_output', 'status', 'created'],
        properties: {
          id: { type: 'string', pattern: '^HANDOFF-\\d{3,}$' },
          task: { type: 'string', minLength: 1 },
          expected_output: { type: 'string' },
          context: { ...TEXTS, description: 'Pointers and files the child should read' },
          status: { type: 'string', enum: ['open', 'done', 'failed'] },
          created: TIME,
          result: { type: ['string', 'null'] },
          artifacts: TEXTS,
          completed_at: TIME,
          read_at: { ...TIME, description: 'When the parent fetched the result' },
        },
        if: { properties: { status: { enum: ['done', 'failed'] } } },
        // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
        then: { required: ['result', 'completed_at'] },
      },
    },
    checkpoint: {
      description: 'What a hook noted just before an agent forgot: replaced each time',
      type: 'object',
      required: ['at'],
      properties: {
        at: TIME,
        last_sync: { ...TIME, description: 'last_update as a person or an agent had left it' },
        client: { type: 'string' },
        session_id: { type: ['string', 'null'] },
        trigger: { type: 'string' },
        branch: { type: ['string', 'null'] },
        commit: { type: ['string', 'null'] },
        files_in_flight: TEXTS,
      },
    },
  },
};

export const PRIORITIES = ['high', 'medium', 'low'] as const;
export const TODO_STATUSES = ['pending', 'in_progress', 'completed', 'blocked'] as const;

function whenStatus(status: string, rule: JsonObject): JsonObject {
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
  return { if: { required: ['status'], properties: { status: { const: status } } }, then: rule };
}

export const TODOS_SCHEMA: JsonObject = {
  $schema: DRAFT,
  title: 'todos.json: the list an agent keeps across sessions',
  description: 'Fields that are not named here are allowed everywhere and are kept.',
  type: 'object',
  required: ['todos'],
  properties: {
    todos: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'title', 'status'],
        properties: {
          id: { type: 'string', pattern: '^TODO-\\d{3,}$' },
          title: { type: 'string', minLength: 1 },
          priority: { type: 'string', enum: [...PRIORITIES] },
          status: { type: 'string', enum: [...TODO_STATUSES] },
          created: TIME,
          updated: TIME,
          completed_at: TIME,
          notes: { type: 'string', description: 'For a blocked todo: why' },
        },
        allOf: [
          whenStatus('completed', { required: ['completed_at'] }),
          whenStatus('blocked', { required: ['notes'], properties: { notes: { minLength: 1 } } }),
        ],
      },
    },
    last_review: { ...TIME, description: 'When all todos were last looked at' },
  },
};
