import { badRequest } from './errors.ts';

const encoder = new TextEncoder();

/**
 * Encodes text as UTF-8. Throws if the text contains an unpaired surrogate, which the encoder would silently replace by
 * U+FFFD.
 */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  if (!text.isWellFormed()) {
    throw badRequest(
      'The text contains an unpaired surrogate, which UTF-8 cannot represent.',
      'Cut text between whole characters, or push it as bytes.',
    );
  }
  return encoder.encode(text);
}

/** Decodes UTF-8 and keeps a byte order mark. Returns null if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Number of bytes that are checked at a time, so that no large string is created. */
const LOOK_BYTES = 16 * 1024;

export function isUtf8(bytes: Uint8Array): boolean {
  const check = new Utf8Check();
  for (let at = 0; at < bytes.length && check.good; at += LOOK_BYTES)
    check.push(bytes.subarray(at, at + LOOK_BYTES));
  return check.end();
}

/** Decodes percent-encoded UTF-8. Returns null if the text is not valid. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Checks whether bytes that arrive in chunks are UTF-8, without storing them. */
export class Utf8Check {
  #decoder: TextDecoder | null = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  /** True if all chunks so far are valid UTF-8. */
  get good(): boolean {
    return this.#decoder !== null;
  }

  push(chunk?: Uint8Array): void {
    try {
      this.#decoder?.decode(chunk, { stream: chunk !== undefined });
    } catch {
      this.#decoder = null;
    }
  }

  /** Returns whether all chunks together are UTF-8. Call it once, after the last chunk. */
  end(): boolean {
    this.push();
    return this.good;
  }
}

/** Returns the number of UTF-8 bytes of a text. An unpaired surrogate counts as 3 bytes, like U+FFFD. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

/** Reads the whole body as text. Invalid bytes become U+FFFD. */
export async function readText(body: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
