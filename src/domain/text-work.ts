import { countRead } from '../base/byte-streams.ts';
import type { TokenCount, TokenCounter } from '../base/tokens.ts';
import type { Caller, CallerAt } from '../contract/caller.ts';
import type { BlobBody } from '../kernel/blobs.ts';
import type { Part, PartRequest } from '../text/parts/part-request.ts';
import type { Content, Preview, PreviewKind } from '../text/preview/preview.ts';
import type { StoredEvent } from './threads/event.ts';
import type { FoldAnswers, FoldJob, FoldKind } from './threads/fold-job.ts';

/**
 * Work that grows with a text or a log, which a server does not do on its event loop. Whoever calls hands the body over: it is read or
 * let go, whatever happens. A server may refuse with `overloaded` where too much waits already, and with `too_costly` a part
 * that takes too long or too much memory. A count that would is an estimate where that is possible.
 */
export interface TextWork extends TokenCounter {
  count(text: string | BlobBody, o?: WorkOptions): Promise<TokenCount>;
  part(body: BlobBody, request: PartRequest, o?: WorkOptions): Promise<Part>;
  preview(kind: PreviewKind, content: Content, o?: WorkOptions): Promise<Preview>;
  /** A fold of the events of a thread, which is as long as its log. Refused with `too_costly` where it takes too much. */
  fold<K extends FoldKind>(
    job: FoldJob<K>,
    events: AsyncIterable<StoredEvent>,
    o?: WorkOptions,
  ): Promise<FoldAnswers[K]>;
}

export interface WorkOptions {
  /** Whose work it is. Tenants take turns; work without one is the relay's own and takes turns with them. */
  readonly tenant?: string;
  /** Once it fires, the work ends with `aborted`. */
  readonly signal?: AbortSignal;
  /** The bytes of a body that comes as a stream, so that it need not be read to know them. */
  readonly size?: number;
}

/** Work on texts for a caller: in the turns of its tenant, and the caller is told what was read for it, as far as it was read. */
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
    // Of what is counted as well, so it is paid for.
    preview: (kind, content, o) => texts.preview(kind, content, { ...o, tenant }),
    fold: (job, events, o) => texts.fold(job, events, { ...o, tenant }),
  };
}
