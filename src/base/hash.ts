import { toHex } from './ids.ts';

const encoder = new TextEncoder();

export async function sha256(data: Uint8Array<ArrayBuffer> | string): Promise<Uint8Array> {
  const bytes = typeof data === 'string' ? encoder.encode(data) : data;
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

export async function sha256Hex(data: Uint8Array<ArrayBuffer> | string): Promise<string> {
  return toHex(await sha256(data));
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

/**
 * Returns whether two ASCII texts are equal. The time depends only on their lengths, so it does not reveal how many
 * characters of a secret are right.
 */
export function equalInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % (b.length || 1));
  return difference === 0;
}

/**
 * Computes the CRC-32 checksum that ZIP and gzip use. For data in several pieces, pass the result of the
 * previous piece as `before`.
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  table ??= makeTable();
  let crc = ~before;
  // Processing one byte at a time is fast enough: compressing the same bytes takes longer.
  for (let i = 0; i < bytes.length; i++) crc = table[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Lookup table of the CRC. It is created on first use, so that commands that need no CRC start faster. */
let table: Uint32Array | undefined;

function makeTable(): Uint32Array {
  const entries = new Uint32Array(256);
  // CRC is linear: crc(a ^ b) = crc(a) ^ crc(b). So only the entries for powers of two are computed from
  // scratch; the others are combined from them.
  for (let power = 128, crc = 1; power > 0; power >>= 1) {
    crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
    for (let rest = 0; rest < 256; rest += 2 * power) entries[power + rest] = crc ^ entries[rest]!;
  }
  return entries;
}
