import { toHex } from './ids.ts';
import { sha256 } from './sha256.ts';

const encoder = new TextEncoder();

/** What is shorter is hashed sooner here than it comes to the thread of the web's `crypto`, and back. */
const SHORT_BYTES = 1024;

export async function sha256Hex(data: Uint8Array<ArrayBuffer> | string): Promise<string> {
  const bytes = typeof data === 'string' ? encoder.encode(data) : data;
  if (bytes.length <= SHORT_BYTES) return toHex(sha256(bytes));
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

export async function hmacSha256(
  key: Uint8Array<ArrayBuffer>,
  data: Uint8Array<ArrayBuffer> | string,
): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  const bytes = typeof data === 'string' ? encoder.encode(data) : data;
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, bytes));
}
