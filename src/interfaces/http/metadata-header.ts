import { fromBase64Url, toBase64Url } from '../../base/base64.ts';
import { RelayError } from '../../base/errors.ts';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';
import { decodeUtf8, encodeUtf8 } from '../../base/utf8.ts';

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
  throw new RelayError('bad_request', { what: 'Relay-Metadata must be a JSON object in base64url.' });
}
