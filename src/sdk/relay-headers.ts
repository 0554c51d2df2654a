import { fromBase64Url } from '../base/base64.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { TokenCount } from '../base/tokens.ts';
import { decodeUtf8 } from '../base/utf8.ts';
import type { Peeked, Visibility } from '../contract/pointers.ts';

/** What `Relay-*` headers tell of a pointer; null where they are not those of a relay. */
export function describedBy(headers: Headers, id: string): Omit<Peeked, 'metadata'> | null {
  const size = whole(headers.get('relay-size'));
  const created_at = headers.get('relay-created-at');
  const expires_at = headers.get('relay-expires-at');
  if (size === null || created_at === null || expires_at === null) return null;
  const tokens = tokensOf(headers.get('relay-tokens'));
  return {
    id: headers.get('relay-id') ?? id,
    size,
    sha256: headers.get('relay-sha256') ?? headers.get('etag')?.replace(/^(?:W\/)?"|"$/g, '') ?? '',
    text: headers.get('relay-text') === '1',
    content_type: decoded(headers.get('relay-content-type')),
    channel: decoded(headers.get('relay-channel')),
    created_at,
    expires_at,
    max_pulls: whole(headers.get('relay-max-pulls')),
    visibility: (headers.get('relay-visibility') as Visibility | null) ?? 'link',
    from: decoded(headers.get('relay-from')) ?? '',
    ...(tokens ? { tokens } : {}),
  };
}

/** Null where it did not fit into a header and has to be peeked at. */
export function metadataOf(headers: Headers): JsonObject | null {
  const header = headers.get('relay-metadata');
  if (header === null) return headers.has('relay-metadata-omitted') ? null : {};
  try {
    const parsed: unknown = JSON.parse(decodeUtf8(fromBase64Url(header)!)!);
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

export function decoded(text: string | null): string | null {
  if (text === null || text === '') return null;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `123; o200k_base`, with `; estimated` behind it where it is one. */
function tokensOf(header: string | null): TokenCount | null {
  const [tokens, tokenizer, estimated] = header?.split(';').map((part) => part.trim()) ?? [];
  const count = whole(tokens ?? null);
  return count === null || !tokenizer
    ? null
    : { tokens: count, tokenizer, estimated: estimated === 'estimated' };
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
