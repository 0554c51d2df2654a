import { badRequest } from './errors.ts';

const encoder = new TextEncoder();

/**
 * A lone surrogate has no UTF-8 form: an encoder would put U+FFFD in its place and the text would come back changed,
 * so it is refused.
 */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  if (!text.isWellFormed()) {
    throw badRequest(
      'The text has half of a surrogate pair in it, which UTF-8 cannot carry.',
      'Cut text between whole characters, or push the bytes themselves.',
    );
  }
  return encoder.encode(text);
}

/** Null where the bytes are not UTF-8. A byte order mark is part of the text and stays. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Bytes that are looked at a time: no text of their size is made, only short ones that are gone at once. */
const LOOK_BYTES = 16 * 1024;

export function isUtf8(bytes: Uint8Array): boolean {
  const check = new Utf8Check();
  for (let at = 0; at < bytes.length && check.good; at += LOOK_BYTES)
    check.push(bytes.subarray(at, at + LOOK_BYTES));
  return check.end();
}

/** Null where the text is not percent-encoded UTF-8. */
export function percentDecoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Tells of bytes that arrive in chunks whether they are UTF-8, without keeping them. */
export class Utf8Check {
  #decoder: TextDecoder | null = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  /** Of what came so far. */
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

  /** Call once, after the last chunk. */
  end(): boolean {
    this.push();
    return this.good;
  }
}

/** Bytes of a text in UTF-8; a lone surrogate counts as the three bytes of what would stand for it. */
export function utf8Bytes(text: string): number {
  return encoder.encode(text).length;
}

/** The whole body as text. Invalid bytes become U+FFFD; whoever must know has looked before. */
export async function readText(body: Uint8Array | ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
