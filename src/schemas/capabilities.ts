import { z } from 'zod';
import { capabilities } from '../contract/capabilities.ts';
import { schemasFor } from './schema.ts';
import { jsonObject } from './shapes.ts';
import { preview, ref, threadId } from './thread-parts.ts';

export const capabilitySchemas = schemasFor(capabilities)({
  list: {
    input: z.object({}),
    output: z.object({
      capabilities: z.array(
        z.object({
          name: z.string(),
          description: z.string(),
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
  },
});
