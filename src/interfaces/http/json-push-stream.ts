import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { PUSH_FIELDS_BYTES } from '../../base/limits.ts';

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
  const reader = source.getReader();
  const scanner = new Scanner(field);
  let fields: JsonObject | null = null;
  const data = new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) {
          fields = scanner.finish();
          controller.close();
          return;
        }
        let pieces: Uint8Array[];
        try {
          pieces = scanner.feed(value);
        } catch (error) {
          reader.cancel(error).catch(() => {});
          throw error;
        }
        for (const piece of pieces) controller.enqueue(piece);
        if (pieces.length > 0) return;
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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Walks the top level of the object; everything but the inside of the data goes into `#rest`. */
class Scanner {
  readonly #field: string;
  readonly #rest: number[] = [];
  #decoder: JsonStringDecoder | null = null;
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

  feed(chunk: Uint8Array): Uint8Array[] {
    const pieces: Uint8Array[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#decoder) {
        const fed = this.#decoder.feed(chunk, at);
        if (fed.decoded.length > 0) pieces.push(fed.decoded);
        if (fed.end < 0) break;
        this.#decoder = null;
        this.#keep(QUOTE);
        at = fed.end;
      } else this.#step(chunk[at++]!);
    }
    return pieces;
  }

  finish(): JsonObject {
    let parsed: unknown;
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(this.#rest));
      parsed = JSON.parse(text);
    } catch (error) {
      throw new RelayError('bad_json', { what: (error as Error).message }, error);
    }
    if (this.#decoder) throw new RelayError('bad_json', { what: 'it ends inside the data' });
    if (!isJsonObject(parsed) || !this.#seen) throw noData(this.#field);
    const { [this.#field]: _, ...fields } = parsed;
    return fields;
  }

  #step(byte: number): void {
    this.#keep(byte);
    if (this.#inString) this.#stepInString(byte);
    else if (byte > 0x20) this.#stepOutside(byte);
  }

  #stepOutside(byte: number): void {
    if (this.#awaitsData && this.#depth === 1) {
      this.#awaitsData = false;
      if (byte !== QUOTE) throw noData(this.#field);
      if (this.#seen) throw new RelayError('bad_json', { what: `"${this.#field}" is there twice` });
      this.#seen = true;
      this.#decoder = new JsonStringDecoder();
      return;
    }
    if (byte === QUOTE) {
      this.#inString = true;
      this.#stringStart = this.#rest.length - 1;
    } else if (byte === 0x7b || byte === 0x5b) this.#depth++;
    else if (byte === 0x7d || byte === 0x5d) this.#depth--;
    else if (byte === 0x3a && this.#depth === 1 && this.#key === this.#field) this.#awaitsData = true;
  }

  #stepInString(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      this.#inString = false;
      if (this.#depth === 1) this.#key = this.#stringSince(this.#stringStart);
    }
  }

  #stringSince(start: number): string {
    try {
      return JSON.parse(new TextDecoder().decode(Uint8Array.from(this.#rest.slice(start))));
    } catch {
      return '';
    }
  }

  #keep(byte: number): void {
    if (this.#rest.length >= PUSH_FIELDS_BYTES) {
      throw new RelayError('too_large', {
        what: `everything beside "${this.#field}" in a JSON body`,
        limit: PUSH_FIELDS_BYTES,
      });
    }
    this.#rest.push(byte);
  }
}

const LOWER_U = 0x75;

/** What follows a backslash, and the byte it stands for. */
const SIMPLE = new Map([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);

/** The longest thing one byte can finish: a surrogate pair, four bytes of UTF-8 that began in an earlier chunk. */
const SPILL_BYTES = 4;

/** Decodes the inside of a JSON string chunk by chunk, bytes in, bytes out. Decoding never makes it longer. */
class JsonStringDecoder {
  /** An escape under way: 0 none, 1 behind the backslash, 2 to 5 within the four digits. */
  #escape = 0;
  #unit = 0;
  /** The first half of a surrogate pair, waiting for the second; 0 for none. */
  #high = 0;

  /** Decodes from `at`. `end` is behind the closing quote, or -1 when it was not in this chunk. */
  feed(chunk: Uint8Array, at: number): { decoded: Uint8Array; end: number } {
    const out = new Uint8Array(chunk.length - at + SPILL_BYTES);
    let length = 0;
    for (let i = at; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#escape > 0) length = this.#escaped(byte, out, length);
      else if (byte === BACKSLASH) this.#escape = 1;
      else {
        if (this.#high !== 0) throw halfPair();
        if (byte === QUOTE) return { decoded: out.subarray(0, length), end: i + 1 };
        if (byte < 0x20) throw new RelayError('bad_json', { what: 'a control character inside a string' });
        out[length++] = byte;
      }
    }
    return { decoded: out.subarray(0, length), end: -1 };
  }

  /** One byte of an escape; gives the new length of the output. */
  #escaped(byte: number, out: Uint8Array, length: number): number {
    if (this.#escape === 1) {
      if (byte === LOWER_U) {
        this.#escape = 2;
        this.#unit = 0;
        return length;
      }
      const simple = SIMPLE.get(byte);
      if (simple === undefined)
        throw new RelayError('bad_json', { what: 'an unknown escape inside a string' });
      if (this.#high !== 0) throw halfPair();
      this.#escape = 0;
      out[length] = simple;
      return length + 1;
    }
    this.#unit = this.#unit * 16 + hexDigit(byte);
    if (++this.#escape < 6) return length;
    this.#escape = 0;
    return this.#character(out, length);
  }

  #character(out: Uint8Array, length: number): number {
    const unit = this.#unit;
    if (unit >= 0xdc00 && unit <= 0xdfff) {
      if (this.#high === 0) throw halfPair();
      const point = 0x10000 + ((this.#high - 0xd800) << 10) + (unit - 0xdc00);
      this.#high = 0;
      return writeUtf8(point, out, length);
    }
    if (this.#high !== 0) throw halfPair();
    if (unit >= 0xd800 && unit <= 0xdbff) {
      this.#high = unit;
      return length;
    }
    return writeUtf8(unit, out, length);
  }
}

export function halfPair(): RelayError {
  return new RelayError('bad_request', {
    what: '"data" holds half of a surrogate pair, which is not a character and would not survive.',
    hint: 'Send well-formed Unicode, or the bytes as a raw body.',
  });
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  if (letter >= 0x61 && letter <= 0x66) return letter - 0x57;
  throw new RelayError('bad_json', { what: 'a broken \\u escape inside a string' });
}

function writeUtf8(point: number, out: Uint8Array, at: number): number {
  if (point < 0x80) {
    out[at] = point;
    return at + 1;
  }
  const more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  out[at] = [0, 0xc0, 0xe0, 0xf0][more]! | (point >> (6 * more));
  for (let i = 1; i <= more; i++) out[at + i] = 0x80 | ((point >> (6 * (more - i))) & 0x3f);
  return at + more + 1;
}

export function noData(field = 'data'): RelayError {
  return new RelayError('bad_request', {
    what: `The JSON body must be an object with "${field}" as a string.`,
    hint: `Send {"${field}": "…"}, or the payload itself as the body with another Content-Type.`,
  });
}
