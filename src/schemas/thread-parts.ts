import { z } from 'zod';
import { ENVELOPE_SCHEMA } from '../contract/threads/answers.ts';
import { ARTIFACT_TYPE, ARTIFACT_TYPES } from '../contract/threads/artifacts.ts';
import { INSTANCE_STATUSES, RUN_STATUSES } from '../contract/threads/runs.ts';
import { STATE_SCHEMA } from '../contract/threads/state.ts';
import type { PatchOp } from '../formats/json-patch/apply.ts';
import {
  count,
  json,
  jsonObject,
  nullableText,
  optionalText,
  ref,
  stateRef,
  text,
  threadId,
  time,
  tokenCount,
} from './shapes.ts';

/** Shapes of threads, for the document that is made of the table. What is wrong with a value the domain says. */

export const metrics = z.object({
  cache_hits: count,
  cache_misses: count,
  tokens_estimate: count,
  tokens_avoided: count,
  hop_count: count,
});

export const threadItem = z.object({
  thread_id: threadId,
  name: text,
  created_at: time,
  expires_at: time.optional(),
  hop_count: count,
});

export const threadInfo = threadItem.extend({
  state_version: count,
  artifact_count: count,
  event_count: count,
});

export const runItem = z.object({
  run: threadId,
  pipeline: text,
  status: z.enum(RUN_STATUSES),
  started_at: time,
  finished_at: time.nullable(),
});

export const pipelineRun = runItem.extend({
  inputs: jsonObject,
  held_by: nullableText.describe('who is at it now'),
  of: z.object({ run: threadId, from: text }).nullable().describe('the run whose results it began with'),
  steps: z.array(z.object({ id: text, agent: nullableText, needs: z.array(text) })),
  instances: z.array(
    z.object({
      step: text,
      of: text,
      status: z.enum(INSTANCE_STATUSES),
      attempts: count,
      started_at: time.nullable(),
      finished_at: time.nullable(),
      duration_ms: z.number().nullable(),
      cached: z.boolean(),
      why: nullableText,
      prompt_event: nullableText.describe('the event of the thread that has its prompt'),
      ref: nullableText,
      model: nullableText,
      prompt_tokens: z.number().nullable(),
      pasted_tokens: z.number().nullable(),
      output_tokens: z.number().nullable(),
      output_ref: optionalText.describe(
        'where the step failed: the artifact with the output of its last attempt',
      ),
      retries: z.array(
        z.object({
          at: time,
          why: text,
          output_ref: optionalText.describe('the artifact with the output of the attempt'),
        }),
      ),
    }),
  ),
});

export const blameLine = z.object({
  path: text,
  version: count,
  at: time,
  by: nullableText,
  how: z.enum(['patch', 'revert', 'artifact', 'compaction', 'import']),
  event: text,
  from: optionalText,
});

const item = <S extends z.ZodRawShape>(fields: S) => z.looseObject(fields);

export const fact = item({ id: text, key: text, value: json, at: optionalText, by: optionalText });
export const constraint = item({ id: text, description: text, severity: optionalText, by: optionalText });
export const question = item({ id: text, question: text, status: optionalText });
export const step = item({ id: text, step: text, status: optionalText });
export const artifactLink = item({ ref: text, type: optionalText, name: optionalText });
export const action = item({ at: optionalText, description: text, result_ref: optionalText });
const decision = item({
  id: text,
  description: text,
  reason_codes: z.array(text).optional(),
  evidence_refs: z.array(text).optional(),
  confidence: z.number().optional(),
  at: optionalText,
  by: optionalText,
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
  session_summary: optionalText,
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
  path: text,
  from: optionalText,
  value: json.optional(),
});

/** The domain says which operation is wrong, and where. */
export const anyOp: z.ZodType<PatchOp, PatchOp> = z.any();

export const event = z.object({
  id: z.string().describe('counts from 1 within the thread; what came from a Go relay keeps the id it had'),
  thread_id: threadId,
  type: text,
  payload: jsonObject,
  timestamp: time,
});

export const artifactType = z
  .string()
  .regex(ARTIFACT_TYPE)
  .describe(`${ARTIFACT_TYPES.join(', ')}, or one of your own, which is treated as text or as binary`);

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
  mime: text,
  name: text,
  size: count,
  hash: z.string().describe('SHA-256, lowercase hex'),
  preview,
  provenance: z.object({
    created_by: text,
    created_at: time,
    source_refs: z.array(text),
    capability: nullableText,
  }),
  tokens: z.object({ content: count, preview: count, tokenizer: text, estimated: z.boolean() }),
  created_at: time,
  path: optionalText.describe('where its file is below the home of the relay'),
  deleted_at: time.optional().describe('its content is gone for good since then'),
});

export const envelope = z.object({
  $schema: z.literal(ENVELOPE_SCHEMA),
  msg_id: z.uuid(),
  thread_id: threadId,
  from: text,
  to_capability: text,
  type: text,
  schema: nullableText,
  payload: json,
  note: nullableText,
  idempotency_key: text,
  timestamp: time,
  ttl: z.number(),
});

const ledger = {
  artifacts: count,
  naive_tokens: count.describe('the contents of the artifacts, each once'),
  actual_tokens: count.describe('their previews, each once'),
  avoided_tokens: count.describe('the difference'),
  cache_hits: count,
  session_cache_hits: count,
  breakdown: z
    .object({
      headers: count,
      header_reads: count,
      states: count,
      state_reads: count,
      previews: count,
      preview_reads: count,
      listings: count,
      listing_reads: count,
      searches: count,
      search_reads: count,
      pulls: count,
      pull_reads: count,
    })
    .describe('what agents read beside the prompts, in tokens and in times'),
  tokenizer: text,
  estimated: z.boolean(),
  billed: z.object({ input_tokens: count, output_tokens: count, cached_input_tokens: count }),
  prompts: z
    .object({
      prompts: count,
      pasted_tokens: count.describe('the same prompts with everything pasted that they stood for'),
      shown_tokens: count.describe('what was put in front of a model: prompts, tool calls and reads'),
      avoided_tokens: count.describe('the difference; may be negative'),
      prompt_tokens: count,
      tool_calls: count,
      tool_call_tokens: count,
      read_tokens: count.describe('the sum of breakdown'),
    })
    .nullable()
    .describe('null where nothing was prompted'),
};

const promptFigures = z.object({
  at: time,
  kind: z.enum(['answered', 'rendered', 'handed_over']),
  by: text,
  pasted_tokens: count,
  shown_tokens: count,
  avoided_tokens: count,
});

export const stats = z.object({
  thread_id: threadId,
  ...ledger,
  recent_prompts: z.array(promptFigures).describe('the last one first, a bounded number'),
});
export const sumStats = z.object({ threads: count, ...ledger });

export const rendered = z.object({
  format: z.enum(['openai', 'anthropic']),
  thread_id: threadId,
  state_ref: stateRef,
  truncated: z.boolean().describe('whether the header had to leave something out'),
  system: optionalText,
  messages: z.array(z.object({ role: z.enum(['system', 'user']), content: text })),
  header: text.describe('the state as it stands in the message of the user'),
  stable: count.describe('how many characters at its beginning do not depend on the words'),
  artifacts: z
    .array(
      z.object({
        ref,
        type: artifactType,
        name: text,
        size: count,
        hash: text,
        created_by: text,
        lines: z.array(count).optional().describe('where the passages that are shown begin'),
      }),
    )
    .describe('what is shown of artifacts, pins first'),
  tokens: tokenCount,
  pasted: tokenCount.describe('the same with the whole state and these artifacts pasted'),
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
    tokenizer: text,
  }),
});
