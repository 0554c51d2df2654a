import type { SearchHit } from '../../../contract/threads.ts';
import { asJson, fromJson } from '../../records.ts';
import type { Capability } from './capability.ts';

/** Finds artifacts by their words. What it found holds until the thread has another artifact. */
export const retrievalSearch: Capability = {
  name: 'retrieval.search',
  description: 'Search the artifacts of this thread, ranked, with snippets',
  args_schema: {
    type: 'object',
    required: ['query'],
    additionalProperties: false,
    properties: {
      query: { type: 'string', minLength: 1, maxLength: 500, description: 'words, or a question' },
      limit: { type: 'integer', minimum: 1, maximum: 50 },
      everywhere: { type: 'boolean', description: 'in all of your threads' },
    },
  },
  cacheable: true,
  cache_ttl_sec: 300,
  // Its own results are artifacts too: they are left out, so that looking twice finds the same.
  indexed: false,
  // One thread's answer is no other thread's, though both were asked the same. What was not indexed then may be so now.
  salt: async (context) => {
    const unsearched = await context.unsearched({ everywhere: true });
    const indexed = unsearched ? ` ${JSON.stringify(unsearched)}` : '';
    return `${context.thread_id} ${await context.artifactCount()}${indexed}`;
  },
  async run(args, context) {
    const {
      query,
      limit = 10,
      everywhere = false,
    } = args as { query: string; limit?: number; everywhere?: boolean };
    const unsearched = await context.unsearched({ everywhere });
    const hits = await context.search(query, { limit, everywhere });
    return {
      content: { query, hits: asJson(hits), ...(unsearched ? { unsearched: asJson(unsearched) } : {}) },
      name: `search: ${query.slice(0, 80)}`,
      source_refs: [...new Set(hits.map((hit) => hit.ref))],
    };
  },
  found(content) {
    const { query, hits } = fromJson<{ query: string; hits: SearchHit[] }>(content);
    return { count: hits.length, query, results: hits };
  },
};
