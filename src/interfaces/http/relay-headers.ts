import { toBase64Url } from '../../base/base64.ts';
import type { TokenCount } from '../../base/tokens.ts';
import type { Peeked } from '../../contract/pointers.ts';

/** A header field of this size passes every HTTP stack; larger metadata is for the peek's body alone. */
const METADATA_HEADER_BYTES = 8 * 1024;

/** What is known of a pointer, as response headers. Free text is percent-encoded: headers are ASCII. */
export function relayHeaders(p: Peeked): Record<string, string> {
  const headers: Record<string, string> = {
    'Relay-Id': p.id,
    'Relay-Size': String(p.size),
    'Relay-Sha256': p.sha256,
    'Relay-Text': p.text ? '1' : '0',
    'Relay-Created-At': p.created_at,
    'Relay-Expires-At': p.expires_at,
    'Relay-Visibility': p.visibility,
    'Relay-From': encodeURIComponent(p.from),
  };
  if (p.content_type !== null) headers['Relay-Content-Type'] = encodeURIComponent(p.content_type);
  if (p.channel !== null) headers['Relay-Channel'] = encodeURIComponent(p.channel);
  if (p.max_pulls !== null) headers['Relay-Max-Pulls'] = String(p.max_pulls);
  if (p.tokens) headers['Relay-Tokens'] = tokensHeader(p.tokens);
  return headers;
}

export function metadataHeader(p: Peeked): Record<string, string> {
  if (Object.keys(p.metadata).length === 0) return {};
  const encoded = toBase64Url(new TextEncoder().encode(JSON.stringify(p.metadata)));
  return encoded.length > METADATA_HEADER_BYTES
    ? { 'Relay-Metadata-Omitted': '1' }
    : { 'Relay-Metadata': encoded };
}

export function tokensHeader(t: TokenCount): string {
  return `${t.tokens}; ${t.tokenizer}${t.estimated ? '; estimated' : ''}`;
}
