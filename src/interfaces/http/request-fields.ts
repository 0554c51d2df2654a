import { fromBase64Url, toBase64Url } from '../../base/base64.ts';
import { badRequest, RelayError } from '../../base/errors.ts';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';
import { decodeUtf8, encodeUtf8, percentDecoded } from '../../base/utf8.ts';

/** Bytes of a body, `end` exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Fields of the query, by name. */
export type Query = { readonly [name: string]: string | undefined };

/** Whether a field of the query says yes; one without a value does. */
export function isOn(query: Query, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === '0' || value === 'false') return false;
  if (value === '1' || value === 'true' || value === '') return true;
  throw badRequest(`"${name}" is 1 or 0, not ${JSON.stringify(value.slice(0, 40))}.`);
}

/** A number in the query; undefined where there is none. */
export function numberIn(query: Query, name: string): number | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  throw badRequest(`"${name}" must be a number, not ${JSON.stringify(value.slice(0, 40))}.`);
}

/**
 * One byte range of a Range header, `end` exclusive; null when there is none or it is to be ignored (RFC 9110 lets a
 * server ignore several ranges and units it does not know).
 */
export function parseRange(header: string | null | undefined, size: number): Range | null {
  if (!header) return null;
  const match = /^bytes=(\d*)-(\d*)$/.exec(header.trim());
  if (!match || (match[1] === '' && match[2] === '')) return null;
  if (match[1] === '') {
    const last = Number(match[2]);
    if (last === 0) throw new RelayError('range_not_satisfiable', { size });
    return { start: Math.max(0, size - last), end: size };
  }
  const start = Number(match[1]);
  const end = match[2] === '' ? size : Math.min(Number(match[2]) + 1, size);
  if (match[2] !== '' && Number(match[2]) < start) return null;
  if (start >= size) throw new RelayError('range_not_satisfiable', { size });
  return { start, end };
}

/** Whether an `If-None-Match` header names this tag. A proxy that packs an answer makes its tag a weak one. */
export function namesTag(header: string, tag: string): boolean {
  return header.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')));
}

/** What a request asks for of a body with this tag and size: a range, the whole (null), or nothing if the client has it. */
export function wantedOf(
  header: (name: string) => string | null | undefined,
  tag: string,
  size: number,
): Range | null | 'unchanged' {
  if (namesTag(header('if-none-match') ?? '', tag)) return 'unchanged';
  const condition = header('if-range');
  return !condition || condition === tag ? parseRange(header('range'), size) : null;
}

/** Content type: `Relay-Content-Type` if present, else `Content-Type`, which HTTP clients set on their own. */
export function contentTypeOf(headers: Headers): string | undefined {
  const declared = headers.get('relay-content-type');
  const type = declared === null ? headers.get('content-type') : percentDecoded(declared);
  if (type === null && declared !== null) throw badRequest('Relay-Content-Type must be percent-encoded.');
  return type || undefined;
}

/** A header field of this size passes every HTTP stack; larger metadata is told in a body alone. */
const METADATA_HEADER_BYTES = 8 * 1024;

/** Metadata beside bytes: as JSON in base64url, because headers are ASCII. */
export function metadataHeader(metadata: JsonObject): Record<string, string> {
  if (Object.keys(metadata).length === 0) return {};
  const encoded = toBase64Url(encodeUtf8(JSON.stringify(metadata)));
  return encoded.length > METADATA_HEADER_BYTES
    ? { 'Relay-Metadata-Omitted': '1' }
    : { 'Relay-Metadata': encoded };
}

export function metadataIn(headers: Headers): JsonObject | undefined {
  const header = headers.get('relay-metadata');
  if (header === null) return undefined;
  const bytes = fromBase64Url(header);
  const metadata = jsonObjectIn(bytes && decodeUtf8(bytes));
  if (metadata) return metadata;
  throw badRequest('Relay-Metadata must be a JSON object in base64url.');
}
