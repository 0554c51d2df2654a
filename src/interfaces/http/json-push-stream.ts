import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { PUSH_FIELDS_BYTES } from '../../base/limits.ts';
import { JsonStringDecoder } from './json-string-decoder.ts';

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

export function noData(field = 'data'): RelayError {
  return new RelayError('bad_request', {
    what: `The JSON body must be an object with "${field}" as a string.`,
    hint: `Send {"${field}": "…"}, or the payload itself as the body with another Content-Type.`,
  });
}
