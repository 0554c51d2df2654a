import { readerOf } from '../../base/byte-streams.ts';
import { badRequest, RelayError, tooLarge } from '../../base/errors.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../base/json.ts';
import { PUSH_FIELDS_BYTES } from '../../base/limits.ts';
import { utf8Bytes } from '../../base/utf8.ts';

/**
 * Reads `{"data": "…", …}` (or another field) of any size without holding the data: `data` is a stream of its decoded bytes, and
 * `fields()` gives the rest once that stream has ended. What surrounds the data is collected and parsed as JSON with
 * the data left out, so the syntax is checked as a whole.
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
          // The error that counts is thrown; the source may be gone already.
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
      if (!fields) throw new RelayError('bad_json', { what: 'it ended early' });
      return fields;
    },
  };
}

const BACKSLASH = 0x5c;

/** Without a chunk: the end, at which no character may be cut off. */
function decode(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (error) {
    throw new RelayError('bad_json', { what: 'it is not UTF-8' }, error);
  }
}

/** Walks the top level of the object; everything but the inside of the data goes into `#rest`. */
class Scanner {
  readonly #field: string;
  #rest = '';
  #restBytes = 0;
  /** Within the data, the beginning of an escape that a chunk cut off; null outside of it. */
  #cutOff: string | null = null;
  #seen = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** The last complete string on the top level, where it may be a key. */
  #stringStart = 0;
  #key = '';
  /** Between the colon behind the key of the data and its value. */
  #awaitsData = false;

  constructor(field: string) {
    this.#field = field;
  }

  /** Gives what is in this text of the data. */
  feed(text: string): string {
    let data = '';
    for (let at = 0; at < text.length; ) {
      if (this.#cutOff === null) {
        this.#step(text[at++]!);
        continue;
      }
      const inside = this.#cutOff + text.slice(at);
      const end = wholeUpTo(inside);
      data += unescaped(inside.slice(0, end));
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

  finish(): JsonObject {
    const parsed = parseJson(this.#rest);
    if (!isJsonObject(parsed) || !this.#seen) throw noData(this.#field);
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
      if (char !== '"') throw noData(this.#field);
      if (this.#seen) throw new RelayError('bad_json', { what: `"${this.#field}" is there twice` });
      this.#seen = true;
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
      if (this.#depth === 1) this.#key = this.#stringSince(this.#stringStart);
    }
  }

  #stringSince(start: number): string {
    try {
      return JSON.parse(this.#rest.slice(start));
    } catch {
      return '';
    }
  }

  #keep(char: string): void {
    this.#restBytes += utf8Bytes(char);
    if (this.#restBytes > PUSH_FIELDS_BYTES)
      throw tooLarge(`everything beside "${this.#field}" in a JSON body`, PUSH_FIELDS_BYTES);
    this.#rest += char;
  }
}

/** How far a text inside a JSON string is whole characters: to the closing quote, or to what its end cuts off. */
function wholeUpTo(text: string): number {
  const find = (char: string, from: number) => {
    const found = text.indexOf(char, from);
    return found < 0 ? text.length : found;
  };
  let at = 0;
  let quote = find('"', 0);
  let high = -1;
  for (;;) {
    // The last one that was found belongs to an escape.
    if (quote < at) quote = find('"', at);
    // In some languages one escape follows the other, and then there is nothing to look for.
    if (text.charCodeAt(at) !== BACKSLASH) at = find('\\', at);
    if (quote < at) return quote;
    const next = at + (text[at + 1] === 'u' ? 6 : 2);
    // The first half of a surrogate pair waits for the second.
    if (next > text.length) return high >= 0 && high + 6 === at ? high : at;
    if (next === at + 6 && 'dD'.includes(text[at + 2]!) && '89abAB'.includes(text[at + 3]!)) high = at;
    at = next;
  }
}

function unescaped(text: string): string {
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
  if (!plain.isWellFormed()) throw halfPair();
  return plain;
}

export function halfPair(): RelayError {
  return badRequest(
    '"data" holds half of a surrogate pair, which is not a character and would not survive.',
    'Send well-formed Unicode, or the bytes as a raw body.',
  );
}

export function noData(field = 'data'): RelayError {
  return badRequest(
    `The JSON body must be an object with "${field}" as a string.`,
    `Send {"${field}": "…"}, or the payload itself as the body with another Content-Type.`,
  );
}
