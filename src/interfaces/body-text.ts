import { badRequest, tooLarge } from '../base/errors.ts';
import { JSON_DEPTH, JSON_VALUES } from '../base/limits.ts';

export interface BodyLimit {
  readonly bytes: number;
  readonly what: string;
  /** What to do with more; by default what the table of errors says. */
  readonly hint?: string;
}

/** For a message of a protocol, which is held whole. */
export const BY_POINTER = 'Push what is large with POST /push or relay push, and send its pointer instead.';

/**
 * A body as text, refused while it is being read once it is longer than the limit. `onText` is shown each piece of it. What that
 * refuses is read to its end all the same: a client that is still sending would not get to see the answer.
 */
export async function bodyText(
  { body }: { readonly body: AsyncIterable<Uint8Array> | null },
  limit: BodyLimit,
  decoder = new TextDecoder(),
  onText: (piece: string) => void = () => {},
): Promise<string> {
  let text = '';
  let size = 0;
  let refused: unknown;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > limit.bytes) throw tooLarge(limit.what, limit.bytes, limit.hint);
    if (refused) continue;
    const piece = decoder.decode(chunk, { stream: true });
    try {
      onText(piece);
      text += piece;
    } catch (error) {
      refused = error;
      text = '';
    }
  }
  if (refused) throw refused;
  return text + decoder.decode();
}

/**
 * The same for a body that will be parsed as JSON. One that is nested too deeply or holds too many values is refused before
 * that: it would take seconds, in which a server does nothing else.
 */
export function jsonText(
  from: { readonly body: AsyncIterable<Uint8Array> | null },
  limit: BodyLimit,
  decoder?: TextDecoder,
): Promise<string> {
  const look = jsonLook();
  return bodyText(from, limit, decoder, look);
}

/** Takes a JSON text piece by piece and throws where it is more than anybody's data. Whether it is JSON is not looked at. */
function jsonLook(): (piece: string) => void {
  let [depth, values, quoted, escaped] = [0, 0, false, false];
  return (piece) => {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (escaped) escaped = false;
      else if (quoted) {
        IN_STRING.lastIndex = at;
        const end = IN_STRING.exec(piece);
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
        `The JSON body holds more than ${JSON_VALUES} values.`,
        'Send it as the text of a payload, or in several requests.',
      );
  };
}

/** What is of interest in a string. */
const IN_STRING = /["\\]/g;
const [QUOTE, COMMA] = [0x22, 0x2c];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];
