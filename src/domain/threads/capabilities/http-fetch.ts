import { FETCH_BYTES, FETCH_TIME_MS } from '../../../base/limits.ts';
import { guessType } from '../artifact-kind.ts';
import type { Capability } from './capability.ts';

/**
 * Fetches from the public internet. Whoever implements it refuses addresses that are not public, at every redirect
 * anew, and stops at the limits.
 */
export type PublicFetch = (
  url: string,
  o: { maxBytes: number; signal: AbortSignal; accept?: string },
) => Promise<FetchedPage>;

export interface FetchedPage {
  readonly status: number;
  /** Where it came from in the end. */
  readonly url: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Null: it is not allowed, and only listed. */
export function httpFetch(fetchPublic: PublicFetch | null): Capability {
  return {
    name: 'http.fetch',
    ...(fetchPublic ? {} : { enabled: false as const }),
    description: 'Get a page or file from the public internet by GET',
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
