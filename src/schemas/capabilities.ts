import { z } from 'zod';
import { capabilities } from '../contract/capabilities.ts';
import { schemasFor } from './schema.ts';
import { searchHit } from './search.ts';
import { count, jsonObject, optionalText, ref, text, threadId } from './shapes.ts';
import { preview } from './thread-parts.ts';

export const capabilitySchemas = schemasFor(capabilities)({
  list: {
    input: z.object({}),
    output: z.object({
      capabilities: z.array(
        z.object({
          name: text,
          description: text,
          args_schema: jsonObject,
          cacheable: z.boolean(),
          cache_ttl_sec: z.number(),
          enabled: z.literal(false).optional().describe('it has to be allowed in the configuration first'),
        }),
      ),
    }),
  },
  invoke: {
    input: z.object({
      capability: text,
      thread_id: threadId,
      args: jsonObject.optional(),
      idempotency_key: optionalText,
    }),
    output: z.object({
      capability: text,
      preview: preview.extend({
        count: count.optional().describe('with `retrieval.search`'),
        query: optionalText,
        results: z.array(searchHit).optional(),
      }),
      artifact_ref: ref,
      cache_hit: z.boolean(),
      cache_key: text,
      duration_ms: z.number(),
    }),
    codes: ['not_found', 'bad_arguments', 'capability_failed'],
  },
});
