import { countRead } from '../base/byte-streams.ts';
import type { TokenCount, TokenCounter } from '../base/tokens.ts';
import type { Caller, CallerAt } from '../contract/caller.ts';
import type { BlobBody } from '../kernel/blobs.ts';
import type { Part, PartRequest } from '../text/parts/part-request.ts';
import type { Content, Preview, PreviewKind } from '../text/preview/preview.ts';

/**
 * Work that grows with a text, which a server does not do on its event loop. Whoever calls hands the body over: it is read or
 * let go, whatever happens. Once the signal fires, the work ends with `aborted`. A server may refuse with `overloaded` where too
 * much waits already, and with `too_costly` what takes too long or too much memory.
 */
export interface TextWork extends TokenCounter {
  count(text: string | BlobBody, signal?: AbortSignal): Promise<TokenCount>;
  part(body: BlobBody, request: PartRequest, signal?: AbortSignal): Promise<Part>;
  preview(kind: PreviewKind, content: Content): Promise<Preview>;
}

/** Work on texts for a caller, who is told what was read for it, as far as it was read. */
export function workFor({ onRead }: Caller & Pick<CallerAt, 'onRead'>, texts: TextWork): TextWork {
  if (!onRead) return texts;
  const seen = <T extends string | BlobBody>(text: T): T => {
    if (text instanceof ReadableStream) return countRead(text, onRead) as T;
    onRead(text.length);
    return text;
  };
  return {
    count: (text, signal) => texts.count(seen(text), signal),
    part: (body, request, signal) => texts.part(seen(body), request, signal),
    // Of what is counted as well, so it is paid for.
    preview: (kind, content) => texts.preview(kind, content),
  };
}
