import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { jsonObject } from './shapes.ts';
import { preview, ref, rendered, threadId } from './thread-shapes.ts';

const count = z.number().int();

export const capabilityOperations = [
  defineOperation({
    name: 'capabilities.list',
    summary: 'What a thread can have done',
    scope: 'threads',
    input: z.object({}),
    output: z.object({
      capabilities: z.array(
        z.object({
          name: z.string(),
          description: z.string(),
          args_schema: jsonObject,
          cacheable: z.boolean(),
          cache_ttl_sec: z.number(),
        }),
      ),
    }),
    http: { method: 'GET', path: '/cap/list' },
    run: (relay) => relay.capabilities.list(),
  }),
  defineOperation({
    name: 'capabilities.invoke',
    summary: 'Have a capability do its work; the result is an artifact',
    scope: 'threads',
    input: z.object({
      capability: z.string(),
      thread_id: threadId,
      args: jsonObject.optional(),
      idempotency_key: z.string().optional(),
    }),
    output: z.object({
      capability: z.string(),
      preview,
      artifact_ref: ref,
      cache_hit: z.boolean(),
      cache_key: z.string(),
      duration_ms: z.number(),
    }),
    http: { method: 'POST', path: '/cap/invoke', headers: { idempotency_key: 'Idempotency-Key' } },
    run: (relay, input) => relay.capabilities.invoke(input),
  }),
  defineOperation({
    name: 'reports.make',
    summary: 'Tell a thread in one document, which becomes an artifact of it',
    scope: 'threads',
    input: z.object({ thread_id: threadId, format: z.enum(['md', 'json']).optional() }),
    output: z.object({
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
    }),
    http: { method: 'POST', path: '/reports/:thread_id' },
    run: (relay, { thread_id, format }) => relay.threads.report(thread_id, { format }),
  }),
  defineOperation({
    name: 'threads.render',
    summary: 'A thread as the messages of a prompt: header and previews, framed',
    scope: 'threads',
    input: z.object({ thread_id: threadId, format: z.enum(['openai', 'anthropic']).optional() }),
    output: rendered,
    http: { method: 'GET', path: '/render/:thread_id' },
    run: async (relay, { thread_id, format }) => (await relay.threads.render(thread_id, { format })) as never,
  }),
];
