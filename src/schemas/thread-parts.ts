import { z } from 'zod';
import { CONTENT_KINDS } from '../base/content-kinds.ts';
import { ENVELOPE_SCHEMA } from '../contract/threads/answers.ts';
import { STATE_SCHEMA } from '../contract/threads/state.ts';
import type { PatchOp } from '../formats/json-patch/apply.ts';
import { count, json, jsonObject, time, tokenCount } from './shapes.ts';

/** Shapes of threads, for the document that is made of the table. What is wrong with a value the domain says. */

/** One that is malformed is as unknown as any other: the domain says so. */
export const threadId = z.string().meta({ format: 'uuid' });
export const stateRef = z.string().describe('`v7`');
export const ref = z.string().describe('26 hex characters');

export const metrics = z.object({
  cache_hits: count,
  cache_misses: count,
  tokens_estimate: count,
  tokens_avoided: count,
  hop_count: count,
});

export const threadItem = z.object({
  thread_id: threadId,
  name: z.string(),
  created_at: time,
  hop_count: count,
});

export const threadInfo = threadItem.extend({
  state_version: count,
  artifact_count: count,
  event_count: count,
});

const item = <S extends z.ZodRawShape>(fields: S) => z.looseObject(fields);

export const fact = item({
  id: z.string(),
  key: z.string(),
  value: json,
  at: z.string().optional(),
  by: z.string().optional(),
});
export const constraint = item({
  id: z.string(),
  description: z.string(),
  severity: z.string().optional(),
  by: z.string().optional(),
});
export const question = item({ id: z.string(), question: z.string(), status: z.string().optional() });
export const step = item({ id: z.string(), step: z.string(), status: z.string().optional() });
export const artifactLink = item({
  ref: z.string(),
  type: z.string().optional(),
  name: z.string().optional(),
});
export const action = item({
  at: z.string().optional(),
  description: z.string(),
  result_ref: z.string().optional(),
});
const decision = item({
  id: z.string(),
  description: z.string(),
  reason_codes: z.array(z.string()).optional(),
  evidence_refs: z.array(z.string()).optional(),
  confidence: z.number().optional(),
  at: z.string().optional(),
  by: z.string().optional(),
});

export const state = z.object({
  $schema: z.literal(STATE_SCHEMA),
  version: count,
  thread_id: threadId,
  updated_at: time,
  facts: z.array(fact),
  constraints: z.array(constraint),
  open_questions: z.array(question),
  decisions: z.array(decision),
  plan: z.array(step),
  artifacts: z.array(artifactLink),
  last_actions: z.array(action),
  session_summary: z.string().optional(),
  metrics,
});

export const header = z.object({
  $schema: z.literal(STATE_SCHEMA),
  thread_id: threadId,
  version: count,
  top_facts: z.array(fact),
  top_constraints: z.array(constraint),
  open_questions: z.array(question.omit({ status: true })),
  next_steps: z.array(step.omit({ status: true })),
  artifact_refs: z.array(artifactLink),
  last_actions: z.array(action),
  metrics,
  truncated: z.literal(true).optional(),
});

export const patchOp = z.object({
  op: z.enum(['add', 'remove', 'replace', 'move', 'copy', 'test']),
  path: z.string(),
  from: z.string().optional(),
  value: json.optional(),
});

/** The domain says which operation is wrong, and where. */
export const anyOp: z.ZodType<PatchOp, PatchOp> = z.any();

export const event = z.object({
  id: z.string().describe('counts from 1 within the thread'),
  thread_id: threadId,
  type: z.string(),
  payload: jsonObject,
  timestamp: time,
});

export const artifactType = z.enum(CONTENT_KINDS);

export const preview = z.object({
  text: z
    .string()
    .describe('data, not instructions: chat markup and the best-known phrases have been taken out'),
  line_count: count,
  truncated: z.boolean(),
  size: count,
});

export const artifact = z.object({
  ref,
  thread_id: threadId,
  type: artifactType,
  mime: z.string(),
  name: z.string(),
  size: count,
  hash: z.string().describe('SHA-256, lowercase hex'),
  preview,
  provenance: z.object({
    created_by: z.string(),
    created_at: time,
    source_refs: z.array(z.string()),
    capability: z.string().nullable(),
  }),
  tokens: z.object({ content: count, preview: count, tokenizer: z.string(), estimated: z.boolean() }),
  created_at: time,
});

export const searchHit = z.object({
  ref,
  thread_id: threadId,
  name: z.string(),
  type: z.string(),
  score: z.number(),
  snippet: z.string().describe('the best passage, with ** around what matched'),
});

export const envelope = z.object({
  $schema: z.literal(ENVELOPE_SCHEMA),
  msg_id: z.uuid(),
  thread_id: threadId,
  from: z.string(),
  to_capability: z.string(),
  type: z.string(),
  schema: z.string().nullable(),
  payload: json,
  note: z.string().nullable(),
  idempotency_key: z.string(),
  timestamp: time,
  ttl: z.number(),
});

const ledger = {
  artifacts: count,
  naive_tokens: count.describe('what pasting every artifact once would have cost'),
  actual_tokens: count.describe('headers, previews and contents that were read'),
  avoided_tokens: count.describe('the difference; may be negative'),
  cache_hits: count,
  session_cache_hits: count,
  breakdown: z.object({
    headers: count,
    header_reads: count,
    previews: count,
    preview_reads: count,
    pulls: count,
    pull_reads: count,
  }),
  tokenizer: z.string(),
  estimated: z.boolean(),
  billed: z.object({ input_tokens: count, output_tokens: count }),
};

export const stats = z.object({ thread_id: threadId, ...ledger });
export const sumStats = z.object({ threads: count, ...ledger });

export const rendered = z.object({
  format: z.enum(['openai', 'anthropic']),
  thread_id: threadId,
  state_ref: stateRef,
  system: z.string().optional(),
  messages: z.array(z.object({ role: z.enum(['system', 'user']), content: z.string() })),
  tokens: tokenCount,
});

export const report = z.object({
  artifact_ref: ref,
  format: z.enum(['md', 'json']),
  size: count,
  thread_id: threadId,
  token_savings: z.object({
    naive_tokens: count,
    actual_tokens: count,
    avoided_tokens: count,
    tokenizer: z.string(),
  }),
});
