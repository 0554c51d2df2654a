import { countRead } from '../base/byte-streams.ts';
import type { TokenCount, TokenCounter } from '../base/tokens.ts';
import type { Caller, CallerAt } from '../contract/caller.ts';
import type { BlobBody } from '../kernel/blobs.ts';
import type { Excerpt, ExcerptOptions } from '../text/excerpt/excerpt.ts';
import type { Part, PartRequest } from '../text/parts/part-request.ts';
import type { Content, Preview, PreviewKind } from '../text/preview/preview.ts';
import type { FoldAnswers, FoldKind, LoadFold } from './threads/fold-job.ts';

/**
 * Work whose cost grows with the length of a text or of a log. A server does this work outside its event loop. A body
 * that is passed in is always consumed or cancelled. A server may reject the work with `overloaded` if too much work is
 * waiting, and with `too_costly` if the work itself needs too much time or memory. If an exact token count would be too
 * costly, the count is an estimate where possible.
 */
export interface TextWork extends TokenCounter {
  count(text: string | BlobBody, o?: WorkOptions): Promise<TokenCount>;
  part(body: BlobBody, request: PartRequest, o?: WorkOptions): Promise<Part>;
  excerpt(body: BlobBody, options: Pick<ExcerptOptions, 'budget'>, o?: WorkOptions): Promise<Excerpt>;
  preview(kind: PreviewKind, content: Content, o?: WorkOptions): Promise<Preview>;
  /**
   * Computes an answer from the log of a thread, such as its state at a version. Rejects with `too_costly` if
   * this needs too much time or memory.
   */
  fold<K extends FoldKind>(load: LoadFold<K>, o?: WorkOptions): Promise<FoldAnswers[K]>;
}

export interface WorkOptions {
  /**
   * Tenant for which the work is done. Tenants take turns. Work without a tenant is the relay's own, which takes turns
   * like a tenant.
   */
  readonly tenant?: string;
  /** Aborts the work, which then rejects with `aborted`. */
  readonly signal?: AbortSignal;
  /** Size of a streamed body in bytes. If it is given, the body need not be read to find out its size. */
  readonly size?: number;
}

/**
 * Returns a `TextWork` whose work waits in the queue of the caller's tenant. `onRead` is called with the number of
 * bytes of text that were read.
 */
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
    excerpt: (body, options, o) => texts.excerpt(seen(body), options, { ...o, tenant }),
    // Do not report the content of a preview to `onRead`, because other code reports it.
    preview: (kind, content, o) => texts.preview(kind, content, { ...o, tenant }),
    fold: (load, o) => texts.fold(load, { ...o, tenant }),
  };
}
