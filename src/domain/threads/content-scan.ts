import { readThrough } from '../../base/byte-streams.ts';
import { isRelayError, tooLarge } from '../../base/errors.ts';
import { ARTIFACT_BYTES, PREVIEW_LOOK_BYTES, TOKEN_COUNT_CHARS } from '../../base/limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import type { ArtifactTokens } from '../../contract/threads.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Content } from '../../text/preview/preview.ts';

/** What was learnt of a content while it passed. */
export interface Seen extends Content {
  /** Its text, as far as tokens are counted; empty where it is not text. */
  readonly text: string;
  /** Bytes that `text` stands for. */
  readonly textBytes: number;
}

/**
 * Reads along while a content goes into the store: cuts it off at the limit, and keeps of it what a preview and a count of
 * tokens need.
 */
export class ContentScan {
  readonly body: BlobBody;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #start: Uint8Array[] = [];
  #startBytes = 0;
  #size = 0;
  #breaks = 0;
  #lastByte = 0x0a;
  #isText = true;
  #text = '';
  #textBytes = 0;

  constructor(body: BlobBody, declared?: number) {
    if (declared !== undefined && declared > ARTIFACT_BYTES) throw tooLarge('an artifact', ARTIFACT_BYTES);
    if (body instanceof Uint8Array) {
      this.#take(body);
      this.body = body;
    } else {
      // Not piped through a transform, which on a Worker gets 4 KB at a time and leaves more behind in memory.
      this.body = readThrough(body, async (next) => {
        const read = await next();
        if (!read.done) this.#take(read.value);
        return read;
      });
    }
  }

  /** Call once, after the body has been read. */
  seen(): Seen {
    this.#decode();
    const start = new Uint8Array(this.#startBytes);
    let at = 0;
    for (const chunk of this.#start) {
      start.set(chunk, at);
      at += chunk.length;
    }
    const lineCount = this.#breaks + (this.#lastByte === 0x0a ? 0 : 1);
    const isText = this.#isText;
    return {
      start,
      size: this.#size,
      lineCount: isText ? lineCount : 0,
      isText,
      text: isText ? this.#text : '',
      textBytes: this.#textBytes,
    };
  }

  #take(chunk: Uint8Array): void {
    this.#size += chunk.length;
    if (this.#size > ARTIFACT_BYTES) throw tooLarge('an artifact', ARTIFACT_BYTES);
    if (chunk.length === 0) return;
    if (this.#startBytes < PREVIEW_LOOK_BYTES) {
      const part = chunk.slice(0, PREVIEW_LOOK_BYTES - this.#startBytes);
      this.#start.push(part);
      this.#startBytes += part.length;
    }
    // Faster than looking for the next one where there are many.
    for (let at = 0; at < chunk.length; at++) if (chunk[at] === 0x0a) this.#breaks++;
    this.#lastByte = chunk.at(-1)!;
    this.#decode(chunk);
  }

  #decode(chunk?: Uint8Array): void {
    if (!this.#isText) return;
    try {
      const text = this.#decoder.decode(chunk, { stream: chunk !== undefined });
      const room = TOKEN_COUNT_CHARS - this.#text.length;
      if (room <= 0) return;
      this.#text += text.length > room ? text.slice(0, room) : text;
      const share = text.length > room ? room / text.length : 1;
      this.#textBytes += Math.round((chunk?.length ?? 0) * share);
    } catch {
      this.#isText = false;
      this.#text = '';
    }
  }
}

/** What a token of ordinary text takes. */
const BYTES_PER_TOKEN = 4;

/** What a content and its preview cost. Of a text that was not kept whole, the count is scaled up to its size. */
export async function countTokens(
  counter: TokenCounter,
  seen: Seen,
  previewText: string,
): Promise<ArtifactTokens> {
  const previewing = counter.count(previewText);
  // Most contents are short enough to be their own previews. Nobody can paste a binary, so that would have cost nothing.
  const counting = seen.text === previewText ? previewing : counter.count(seen.text);
  const [previewed, whole] = await Promise.all([
    previewing,
    counting.catch((error) => {
      if (!isRelayError(error, 'too_costly') && !isRelayError(error, 'overloaded')) throw error;
      return null;
    }),
  ]);
  // What cannot be counted in time is stored all the same.
  const guessed = { ...previewed, tokens: Math.ceil(seen.textBytes / BYTES_PER_TOKEN), estimated: true };
  const { tokens, tokenizer, estimated } = whole ?? guessed;
  const partial = seen.isText && seen.textBytes < seen.size;
  const content = partial ? Math.round((tokens * seen.size) / seen.textBytes) : tokens;
  return { content, preview: previewed.tokens, tokenizer, estimated: estimated || partial };
}
