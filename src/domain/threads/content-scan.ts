import { concatBytes, readThrough } from '../../base/byte-streams.ts';
import { isRelayError, tooLarge } from '../../base/errors.ts';
import { ARTIFACT_BYTES, PREVIEW_LOOK_BYTES, TOKEN_COUNT_CHARS } from '../../base/limits.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import type { ArtifactTokens } from '../../contract/threads.ts';
import type { BlobBody } from '../../kernel/blobs.ts';
import type { Content } from '../../text/preview/preview.ts';

/** Result of scanning an artifact's content while it was stored. */
export interface ScannedContent extends Content {
  /** Beginning of the text, for counting tokens; empty for binary content. */
  readonly text: string;
  /** Number of bytes of the content that `text` covers. */
  readonly textBytes: number;
}

/**
 * Scans the content of an artifact while it is stored. Enforces the size limit and collects what the preview
 * and the token count need.
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
      // Do not use a `TransformStream`: on Workers it would pass chunks of 4 KB and use more memory.
      this.body = readThrough(body, async (next) => {
        const read = await next();
        if (!read.done) this.#take(read.value);
        return read;
      });
    }
  }

  /** Returns the result. Call once, after the body has been read. */
  result(): ScannedContent {
    this.#decode();
    const lineCount = this.#breaks + (this.#lastByte === 0x0a ? 0 : 1);
    const isText = this.#isText;
    return {
      start: concatBytes(this.#start),
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
    // A plain loop is faster than `indexOf` when there are many line breaks.
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

/** Average bytes per token of ordinary text. */
const BYTES_PER_TOKEN = 4;

/**
 * Counts the tokens of an artifact's content and of its preview. If the scan kept only a part of the text, the count
 * of this part is scaled to the full size.
 */
export async function countArtifactTokens(
  counter: TokenCounter,
  scanned: ScannedContent,
  previewText: string,
): Promise<ArtifactTokens> {
  const previewing = counter.count(previewText);
  // A text that equals its preview, as most do, is counted only once. The text of binary content is empty, so binary
  // content has 0 tokens.
  const counting = scanned.text === previewText ? previewing : counter.count(scanned.text);
  const [previewed, whole] = await Promise.all([
    previewing,
    counting.catch((error) => {
      if (!isRelayError(error, 'too_costly') && !isRelayError(error, 'overloaded')) throw error;
      return null;
    }),
  ]);
  // If the count takes too long, use an estimate, because the artifact must be stored anyway.
  const guessed = { ...previewed, tokens: Math.ceil(scanned.textBytes / BYTES_PER_TOKEN), estimated: true };
  const { tokens, tokenizer, estimated } = whole ?? guessed;
  const partial = scanned.isText && scanned.textBytes < scanned.size;
  const content = partial ? Math.round((tokens * scanned.size) / scanned.textBytes) : tokens;
  return { content, preview: previewed.tokens, tokenizer, estimated: estimated || partial };
}
