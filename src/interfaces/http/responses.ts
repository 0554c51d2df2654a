import type { Part } from '../../text/parts/part-request.ts';
import type { Range } from './request-fields.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';

type Fields = Record<string, string>;

/**
 * Headers of every response: browsers must not guess the content type, run or frame the content, or send its
 * URL as a referrer.
 */
export const SECURITY_HEADERS: Fields = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'Referrer-Policy': 'no-referrer',
};
/** Headers of responses that must not be cached. */
const UNCACHED_HEADERS: Fields = { ...SECURITY_HEADERS, 'Cache-Control': 'no-store' };

/*
 * Pass headers to the constructor of Response and never change them later: the Node adapter then writes them
 * without creating a Headers object, which is slow.
 */

export function jsonResponse(value: unknown, o: { status?: number; headers?: Fields } = {}): Response {
  return new Response(JSON.stringify(value), { status: o.status ?? 200, headers: jsonHeaders(o.headers) });
}

export function jsonHeaders(more: Fields = {}): Fields {
  return { 'Content-Type': JSON_TYPE, ...UNCACHED_HEADERS, ...more };
}

export function textResponse(
  body: string | Uint8Array | ReadableStream<Uint8Array>,
  headers: Fields = {},
): Response {
  return new Response(body as BodyInit, {
    headers: { 'Content-Type': TEXT_TYPE, ...UNCACHED_HEADERS, ...headers },
  });
}

/** Responds with bytes. `headers` says whether the client may cache them. */
export function bytesResponse(
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  status: number,
  headers: Fields,
): Response {
  return new Response(body as BodyInit | null, { status, headers: bytesHeaders(headers) });
}

export function bytesHeaders(more: Fields): Fields {
  return { ...SECURITY_HEADERS, ...more };
}

/**
 * Returns headers that keep browsers from running user content: text is shown as plain text, anything else is
 * downloaded.
 */
export function contentHeaders(isText: boolean, tag: string): Fields {
  return {
    'Content-Type': isText ? TEXT_TYPE : 'application/octet-stream',
    ...(isText ? {} : { 'Content-Disposition': 'attachment' }),
    ETag: tag,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
  };
}

/** Returns the headers of a 206 response for a body of `size` bytes. */
export function rangeHeaders({ start, end }: Range, size: number | null): Fields {
  return { 'Content-Length': String(end - start), 'Content-Range': `bytes ${start}-${end - 1}/${size}` };
}

/** Responds with a part of a text. The header `Relay-Part` says which part. */
export function partResponse({ text, about, truncated }: Part): Response {
  return textResponse(text, {
    'Relay-Part': encodeURIComponent(about),
    ...(truncated ? { 'Relay-Truncated': '1' } : {}),
  });
}
