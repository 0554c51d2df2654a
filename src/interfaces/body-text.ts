import { badRequest, tooLarge } from '../base/errors.ts';
import { type Json, parseJson } from '../base/json.ts';
import { JSON_DEPTH, JSON_VALUES } from '../base/limits.ts';

/** Size limit of a request body, and texts for the error. */
interface BodyLimit {
  readonly bytes: number;
  readonly what: string;
  /** Hint of the error. Default: the hint of `too_large` in the error table. */
  readonly hint?: string;
}

/**
 * Hint for a protocol message that is too large. Messages have a limit because the server holds them in
 * memory.
 */
export const POINTER_HINT = 'Push large content with POST /push or relay push, and send the pointer instead.';

/**
 * Reads a body as text and passes each piece to `onText`. Throws `too_large` as soon as the body exceeds the
 * limit. If `onText` throws, reads the rest first: a client that is still sending would not read the answer.
 */
export async function bodyText(
  { body }: { readonly body: AsyncIterable<Uint8Array> | null },
  limit: BodyLimit,
  decoder = new TextDecoder(),
  onText: (piece: string) => void = () => {},
): Promise<string> {
  let text = '';
  let size = 0;
  let failure: unknown;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > limit.bytes) throw tooLarge(limit.what, limit.bytes, limit.hint);
    if (failure) continue;
    const piece = decoder.decode(chunk, { stream: true });
    try {
      onText(piece);
      text += piece;
    } catch (error) {
      failure = error;
      text = '';
    }
  }
  if (failure) throw failure;
  return text + decoder.decode();
}

/**
 * Reads a JSON body as text. Rejects deep nesting and very many values, whose parsing would block the server
 * for seconds.
 */
export function jsonText(
  from: { readonly body: AsyncIterable<Uint8Array> | null },
  limit: BodyLimit,
  decoder?: TextDecoder,
): Promise<string> {
  return bodyText(from, limit, decoder, jsonLimiter());
}

/** Parses JSON with the limits of `jsonText`. */
export function parseLimitedJson(text: string): Json {
  jsonLimiter()(text);
  return parseJson(text);
}

/**
 * Returns a function that takes JSON text in pieces and throws if it is nested too deeply or has too many
 * values. It does not check the syntax.
 */
function jsonLimiter(): (piece: string) => void {
  let [depth, values, quoted, escaped] = [0, 0, false, false];
  return (piece) => {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (escaped) escaped = false;
      else if (quoted) {
        STRING_MARK.lastIndex = at;
        const end = STRING_MARK.exec(piece);
        if (!end) break;
        at = end.index;
        if (end[0] === '"') quoted = false;
        else escaped = true;
      } else if (code === QUOTE) quoted = true;
      else if (code === COMMA) values++;
      else if (code === BRACKET || code === BRACE) {
        values++;
        if (++depth > JSON_DEPTH)
          throw badRequest(`The JSON body is nested more than ${JSON_DEPTH} levels deep.`);
      } else if (code === BRACKET_END || code === BRACE_END) depth--;
    }
    if (values > JSON_VALUES)
      throw badRequest(
        `The JSON body has more than ${JSON_VALUES} values.`,
        'Push it as a text payload, or split it into several requests.',
      );
  };
}

/** Matches the characters that end a JSON string or start an escape inside it. */
const STRING_MARK = /["\\]/g;
const [QUOTE, COMMA] = [0x22, 0x2c];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];
