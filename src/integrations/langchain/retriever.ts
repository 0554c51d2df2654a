import type { CallbackManagerForRetrieverRun } from '@langchain/core/callbacks/manager';
import { Document } from '@langchain/core/documents';
import { BaseRetriever, type BaseRetrieverInput } from '@langchain/core/retrievers';
import { RelayError } from '../../base/errors.ts';
import { parsePointer } from '../../contract/pointer-url.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';

export interface ContextRelayRetrieverInput extends BaseRetrieverInput {
  readonly relay: ContextRelay;
  /** The thread in whose artifacts questions are looked up. Without it only pointers are answered. */
  readonly thread?: string;
  /** The most passages for one question; 5 by default. */
  readonly k?: number;
}

/**
 * Documents of a relay. A query that is a relay URL gives the text behind it; any other is looked up in the artifacts of the
 * thread, and gives passages, best first, with where they are from in their metadata.
 */
export class ContextRelayRetriever extends BaseRetriever {
  lc_namespace: string[] = ['contextrelay', 'retrievers'];
  readonly #relay: ContextRelay;
  readonly #thread: string | undefined;
  readonly #k: number;

  static override lc_name(): string {
    return 'ContextRelayRetriever';
  }

  constructor({ relay, thread, k = 5, ...fields }: ContextRelayRetrieverInput) {
    super(fields);
    this.#relay = relay;
    this.#thread = thread;
    this.#k = k;
  }

  override async _getRelevantDocuments(
    query: string,
    _run?: CallbackManagerForRetrieverRun,
  ): Promise<Document[]> {
    if (isPointer(query)) return [await this.#pulled(query.trim())];
    if (!this.#thread) {
      throw new RelayError('bad_request', {
        what: 'There is no thread to look this up in, and it is no relay URL.',
        hint: 'Pass `thread` to ContextRelayRetriever, or ask for a URL.',
      });
    }
    const hits = await this.#relay.threads.open(this.#thread).artifacts.search(query, { limit: this.#k });
    return hits.map(({ snippet, ...metadata }) => new Document({ pageContent: snippet, metadata }));
  }

  async #pulled(url: string): Promise<Document> {
    const { metadata, size, created_at } = await this.#relay.inspect(url);
    const pageContent = await this.#relay.pull(url);
    // The key of an encrypted payload is for whoever has the URL, and not for every store that documents end up in.
    return new Document({
      pageContent,
      metadata: { ...metadata, source: url.split('#')[0], size, created_at },
    });
  }
}

function isPointer(query: string): boolean {
  try {
    return parsePointer(query).base !== null;
  } catch {
    return false;
  }
}
