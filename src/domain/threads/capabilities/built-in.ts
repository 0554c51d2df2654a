import { FETCH_BYTES, FETCH_TIME_MS } from '../../../base/limits.ts';
import type { SearchHit } from '../../../contract/threads.ts';
import { asJson, fromJson } from '../../records.ts';
import { guessType } from '../artifact-kind.ts';
import type { Capability } from './capability.ts';

/**
 * Fetches a URL from the public internet. Implementations reject non-public addresses, also after each
 * redirect. They stop at the byte limit and when the signal aborts.
 */
export type PublicFetch = (
  url: string,
  o: { maxBytes: number; signal: AbortSignal; accept?: string },
) => Promise<FetchedPage>;

interface FetchedPage {
  readonly status: number;
  /** Final URL, after redirects. */
  readonly url: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Creates the `http.fetch` capability. If `fetchPublic` is null, the capability is listed but disabled. */
export function httpFetch(fetchPublic: PublicFetch | null): Capability {
  return {
    name: 'http.fetch',
    ...(fetchPublic ? {} : { enabled: false as const }),
    description: 'Fetch a page or file from the public internet',
    args_schema: {
      type: 'object',
      required: ['url'],
      additionalProperties: false,
      properties: {
        url: { type: 'string', maxLength: 2048, pattern: '^[hH][tT][tT][pP][sS]?://' },
        accept: { type: 'string', maxLength: 200, pattern: '^[\\x20-\\x7e]*$' },
      },
    },
    cacheable: true,
    cache_ttl_sec: 300,
    async run(args, context) {
      const { url, accept } = args as { url: string; accept?: string };
      const signal = AbortSignal.any([context.signal, AbortSignal.timeout(FETCH_TIME_MS)]);
      if (!fetchPublic) throw new Error('http.fetch is not allowed');
      const page = await fetchPublic(url, { maxBytes: FETCH_BYTES, signal, accept });
      const { host, pathname } = new URL(page.url);
      if (page.status < 200 || page.status > 299) throw new Error(`${host} answered ${page.status}`);
      const mime = page.contentType.split(';')[0]!.trim().toLowerCase() || 'application/octet-stream';
      const name = decodeURIComponentSafely(pathname.slice(pathname.lastIndexOf('/') + 1)) || host;
      return {
        content: page.body,
        mime: /^[\w.+-]+\/[\w.+-]+$/.test(mime) ? mime : 'application/octet-stream',
        type: guessType('', mime),
        name: name.slice(0, 200),
        source_refs: [page.url.slice(0, 128)],
      };
    },
  };
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Capability for full-text search in artifacts. A result is cached for 5 minutes at most. The cached result becomes
 * stale earlier if an artifact is added or the index makes progress.
 */
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
      everywhere: { type: 'boolean', description: 'search all of your threads' },
    },
  },
  cacheable: true,
  cache_ttl_sec: 300,
  // Search results are artifacts too. If they were indexed, repeating a search would give different hits.
  indexed: false,
  // Results depend on the thread and on how much is indexed, so both are part of the cache key.
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
