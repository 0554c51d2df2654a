import { fromBase64Url, toBase64Url } from '../../base/base64.ts';
import { badRequest, RelayError } from '../../base/errors.ts';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';
import { decodeUtf8, encodeUtf8, percentDecoded } from '../../base/utf8.ts';

/** Byte range of a body. `end` is exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Query parameters by name. */
export type Query = { readonly [name: string]: string | undefined };

/** Returns whether a query parameter is on: `1`, `true` or without a value. */
export function queryFlag(query: Query, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === '0' || value === 'false') return false;
  if (value === '1' || value === 'true' || value === '') return true;
  throw badRequest(`"${name}" must be 1 or 0, not ${JSON.stringify(value.slice(0, 40))}.`);
}

/** Returns a number from the query, or undefined if it is missing or empty. */
export function queryNumber(query: Query, name: string): number | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (/^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  throw badRequest(`"${name}" must be a number, not ${JSON.stringify(value.slice(0, 40))}.`);
}

/**
 * Parses a Range header with one byte range. Returns null for a missing header, and for several ranges or an
 * unknown unit, which RFC 9110 allows a server to ignore.
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

/**
 * Returns whether an `If-None-Match` header lists this ETag. Ignores the prefix `W/`, which proxies add when
 * they compress a response.
 */
export function matchesEtag(header: string, tag: string): boolean {
  return header.split(',').some((each) => ['*', tag].includes(each.trim().replace(/^W\//, '')));
}

/**
 * Evaluates the conditional headers: returns a range, null for the whole body, or `unchanged` if the client
 * already has it.
 */
export function requestedRange(
  header: (name: string) => string | null | undefined,
  tag: string,
  size: number,
): Range | null | 'unchanged' {
  if (matchesEtag(header('if-none-match') ?? '', tag)) return 'unchanged';
  const condition = header('if-range');
  return !condition || condition === tag ? parseRange(header('range'), size) : null;
}

/**
 * Returns the content type: `Relay-Content-Type` if present, else `Content-Type`, which HTTP clients set on
 * their own.
 */
export function contentTypeOf(headers: Headers): string | undefined {
  const declared = headers.get('relay-content-type');
  const type = declared === null ? headers.get('content-type') : percentDecoded(declared);
  if (type === null && declared !== null) throw badRequest('Relay-Content-Type must be percent-encoded.');
  return type || undefined;
}

/**
 * Maximum size of the metadata header in bytes. Larger metadata is omitted, because some HTTP programs cannot
 * handle it.
 */
const METADATA_HEADER_BYTES = 8 * 1024;

/**
 * Encodes metadata as a header: JSON in base64url, because headers are ASCII. If it is too large, a header
 * says so instead.
 */
export function metadataHeader(metadata: JsonObject): Record<string, string> {
  if (Object.keys(metadata).length === 0) return {};
  const encoded = toBase64Url(encodeUtf8(JSON.stringify(metadata)));
  return encoded.length > METADATA_HEADER_BYTES
    ? { 'Relay-Metadata-Omitted': '1' }
    : { 'Relay-Metadata': encoded };
}

/** Reads metadata from the `Relay-Metadata` header. */
export function parseMetadataHeader(headers: Headers): JsonObject | undefined {
  const header = headers.get('relay-metadata');
  if (header === null) return undefined;
  const bytes = fromBase64Url(header);
  const metadata = jsonObjectIn(bytes && decodeUtf8(bytes));
  if (metadata) return metadata;
  throw badRequest('Relay-Metadata must be a JSON object in base64url.');
}
