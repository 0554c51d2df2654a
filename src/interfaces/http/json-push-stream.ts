import { readerOf } from '../../base/byte-streams.ts';
import { badRequest, RelayError, tooLarge } from '../../base/errors.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../base/json.ts';
import { PUSH_FIELDS_BYTES } from '../../base/limits.ts';
import { orElse } from '../../base/or-else.ts';
import { utf8Bytes } from '../../base/utf8.ts';

/**
 * Reads `{"data": "…", …}` of any size without holding the data in memory. `field` is the name of the data
 * field. The returned `data` streams the decoded bytes; after its end, `fields()` returns the other fields.
 * Their syntax is checked by parsing the JSON with an empty data field.
 */
export function readJsonPush(
  source: ReadableStream<Uint8Array>,
  field = 'data',
): {
  data: ReadableStream<Uint8Array>;
  fields(): JsonObject;
} {
  const reader = readerOf(source);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const encoder = new TextEncoder();
  const scanner = new Scanner(field);
  let fields: JsonObject | null = null;
  const data = new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const { done, value } = await reader.read();
        try {
          const piece = scanner.feed(decode(decoder, value));
          if (piece !== '') return controller.enqueue(encoder.encode(piece));
        } catch (error) {
          // Ignore an error of `cancel`: the first error is thrown below.
          reader.cancel(error).catch(() => {});
          throw error;
        }
        if (!done) continue;
        fields = scanner.finish();
        return controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return {
    data,
    fields: () => {
      if (!fields) throw new RelayError('bad_json', { what: 'it is incomplete' });
      return fields;
    },
  };
}

const BACKSLASH = 0x5c;

/** Decodes a chunk. No chunk means the end of the text, where an incomplete character is an error. */
function decode(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (error) {
    throw new RelayError('bad_json', { what: 'it is not UTF-8' }, error);
  }
}

/**
 * Scans a JSON object piece by piece. Separates the data string from the other JSON text, which `#rest`
 * collects.
 */
class Scanner {
  readonly #field: string;
  #rest = '';
  #restBytes = 0;
  /**
   * Null outside the data string. Inside: an empty text, or the start of an escape that the end of a chunk
   * has cut.
   */
  #cutOff: string | null = null;
  #hasData = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Index in `#rest` at which the current string starts. */
  #stringStart = 0;
  /** The last complete string on the top level, which may be a member name. */
  #key = '';
  /** True after the name of the data field and its colon: the next value is the data. */
  #awaitsData = false;

  constructor(field: string) {
    this.#field = field;
  }

  /** Scans more text. Returns the part of the data that this text contains. */
  feed(text: string): string {
    let data = '';
    for (let at = 0; at < text.length; ) {
      if (this.#cutOff === null) {
        this.#step(text[at++]!);
        continue;
      }
      const inside = this.#cutOff + text.slice(at);
      const end = completeLength(inside);
      data += unescapeJson(inside.slice(0, end));
      if (inside[end] !== '"') {
        this.#cutOff = inside.slice(end);
        break;
      }
      at += end + 1 - this.#cutOff.length;
      this.#cutOff = null;
      this.#keep('"');
    }
    return data;
  }

  /** Parses the collected text and returns the fields other than the data. */
  finish(): JsonObject {
    const parsed = parseJson(this.#rest);
    if (!isJsonObject(parsed) || !this.#hasData) throw missingField(this.#field);
    const { [this.#field]: _, ...fields } = parsed;
    return fields;
  }

  #step(char: string): void {
    this.#keep(char);
    if (this.#inString) this.#stepInString(char);
    else if (char > ' ') this.#stepOutside(char);
  }

  #stepOutside(char: string): void {
    if (this.#awaitsData && this.#depth === 1) {
      this.#awaitsData = false;
      if (char !== '"') throw missingField(this.#field);
      if (this.#hasData) throw new RelayError('bad_json', { what: `"${this.#field}" appears twice` });
      this.#hasData = true;
      this.#cutOff = '';
    } else if (char === '"') {
      this.#inString = true;
      this.#stringStart = this.#rest.length - 1;
    } else if (char === '{' || char === '[') this.#depth++;
    else if (char === '}' || char === ']') this.#depth--;
    else if (char === ':' && this.#depth === 1 && this.#key === this.#field) this.#awaitsData = true;
  }

  #stepInString(char: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (char === '\\') this.#escaped = true;
    else if (char === '"') {
      this.#inString = false;
      if (this.#depth === 1) this.#key = orElse(() => JSON.parse(this.#rest.slice(this.#stringStart)), '');
    }
  }

  #keep(char: string): void {
    this.#restBytes += utf8Bytes(char);
    if (this.#restBytes > PUSH_FIELDS_BYTES)
      throw tooLarge(`a JSON body without its "${this.#field}"`, PUSH_FIELDS_BYTES);
    this.#rest += char;
  }
}

/**
 * Returns the index of the closing quote. If there is none, returns the index of an incomplete escape, or else the
 * length of the text.
 */
function completeLength(text: string): number {
  const find = (char: string, from: number) => {
    const found = text.indexOf(char, from);
    return found < 0 ? text.length : found;
  };
  let at = 0;
  let quote = find('"', 0);
  let high = -1;
  for (;;) {
    // This quote is part of a skipped escape. Find the next one.
    if (quote < at) quote = find('"', at);
    // Search for the next escape only if none follows directly: in some texts every character is an escape.
    if (text.charCodeAt(at) !== BACKSLASH) at = find('\\', at);
    if (quote < at) return quote;
    const next = at + (text[at + 1] === 'u' ? 6 : 2);
    // The text ends inside an escape. If the escape before it is the first half of a surrogate pair, keep
    // both until the second half arrives.
    if (next > text.length) return high >= 0 && high + 6 === at ? high : at;
    if (next === at + 6 && 'dD'.includes(text[at + 2]!) && '89abAB'.includes(text[at + 3]!)) high = at;
    at = next;
  }
}

function unescapeJson(text: string): string {
  let plain: string;
  try {
    plain = JSON.parse(`"${text}"`);
  } catch (error) {
    const { message } = error as Error;
    let what = 'an unknown escape';
    if (/control/i.test(message)) what = 'a control character';
    if (/unicode/i.test(message)) what = 'a broken \\u escape';
    throw new RelayError('bad_json', { what: `${what} inside a string` }, error);
  }
  if (!plain.isWellFormed()) throw unpairedSurrogate();
  return plain;
}

export function unpairedSurrogate(): RelayError {
  return badRequest(
    '"data" contains an unpaired surrogate, which cannot be encoded as UTF-8.',
    'Send valid Unicode, or send the bytes as a raw body.',
  );
}

export function missingField(field = 'data'): RelayError {
  return badRequest(
    `The JSON body must be an object with the string "${field}".`,
    `Send {"${field}": "…"}, or the payload itself as the body with another Content-Type.`,
  );
}
