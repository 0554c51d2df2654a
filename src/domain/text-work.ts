import { countRead } from '../base/byte-streams.ts';
import type { TokenCount, TokenCounter } from '../base/tokens.ts';
import type { Caller, CallerAt } from '../contract/caller.ts';
import type { BlobBody } from '../kernel/blobs.ts';
import type { Part, PartRequest } from '../text/parts/part-request.ts';
import type { Content, Preview, PreviewKind } from '../text/preview/preview.ts';
import type { StoredEvent } from './threads/event.ts';
import type { FoldAnswers, FoldJob, FoldKind } from './threads/fold-job.ts';

/**
 * Work whose cost grows with a text or a log, which a server does not do on its event loop. The body is always
 * consumed or cancelled. A server may reject with `overloaded` if too much is waiting, and with `too_costly` if a part
 * needs too much time or memory. A token count that would be too costly is estimated if possible.
 */
export interface TextWork extends TokenCounter {
  count(text: string | BlobBody, o?: WorkOptions): Promise<TokenCount>;
  part(body: BlobBody, request: PartRequest, o?: WorkOptions): Promise<Part>;
  preview(kind: PreviewKind, content: Content, o?: WorkOptions): Promise<Preview>;
  /** Folds the events of a thread. Rejected with `too_costly` if it needs too much time or memory. */
  fold<K extends FoldKind>(
    job: FoldJob<K>,
    events: AsyncIterable<StoredEvent>,
    o?: WorkOptions,
  ): Promise<FoldAnswers[K]>;
}

export interface WorkOptions {
  /** Tenant of the work. Tenants take turns; work without a tenant is the relay's own and takes turns with them. */
  readonly tenant?: string;
  /** Ends the work with `aborted`. */
  readonly signal?: AbortSignal;
  /** Size in bytes of a streamed body, so that it need not be read to know it. */
  readonly size?: number;
}

/** Runs text work for a caller, in its tenant's turns, and reports to `onRead` how much was read. */
export function workFor({ tenant, onRead }: Caller & Pick<CallerAt, 'onRead'>, texts: TextWork): TextWork {
  const seen = <T extends string | BlobBody>(text: T): T => {
    if (!onRead) return text;
    if (text instanceof ReadableStream) return countRead(text, onRead) as T;
    onRead(text.length);
    return text;
  };
  return {
    count: (text, o) => texts.count(seen(text), { ...o, tenant }),
    part: (body, request, o) => texts.part(seen(body), request, { ...o, tenant }),
    // A preview is made of content that is counted anyway, so it is not reported again.
    preview: (kind, content, o) => texts.preview(kind, content, { ...o, tenant }),
    fold: (job, events, o) => texts.fold(job, events, { ...o, tenant }),
  };
}
