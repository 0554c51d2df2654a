import type { Part } from '../../text/parts/part-request.ts';
import type { Range } from './request-fields.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
export const TEXT_TYPE = 'text/plain; charset=utf-8';

type Fields = Record<string, string>;

/** On every answer: a browser must not guess a type of its own, run anything in it, frame it, or tell others of its address. */
export const ALWAYS: Fields = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'Referrer-Policy': 'no-referrer',
};
/** On every answer that is not worth keeping. */
const FRESH: Fields = { ...ALWAYS, 'Cache-Control': 'no-store' };

/*
 * Headers are given to the constructor and never touched later: the server's adapter then writes them out as they
 * are, without building a Headers object.
 */

export function jsonResponse(value: unknown, o: { status?: number; headers?: Fields } = {}): Response {
  return new Response(JSON.stringify(value), { status: o.status ?? 200, headers: jsonHeaders(o.headers) });
}

export function jsonHeaders(more: Fields = {}): Fields {
  return { 'Content-Type': JSON_TYPE, ...FRESH, ...more };
}

export function textResponse(
  body: string | Uint8Array | ReadableStream<Uint8Array>,
  headers: Fields = {},
): Response {
  return new Response(body as BodyInit, { headers: { 'Content-Type': TEXT_TYPE, ...FRESH, ...headers } });
}

/** Bytes that a client may keep, with the headers that say how. */
export function bytesResponse(
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  status: number,
  headers: Fields,
): Response {
  return new Response(body as BodyInit | null, { status, headers: bytesHeaders(headers) });
}

export function bytesHeaders(more: Fields): Fields {
  return { ...ALWAYS, ...more };
}

/** Whatever its sender called it, a browser must never run it: text is shown as text, all else is a download. */
export function contentHeaders(isText: boolean, tag: string): Fields {
  return {
    'Content-Type': isText ? TEXT_TYPE : 'application/octet-stream',
    ...(isText ? {} : { 'Content-Disposition': 'attachment' }),
    ETag: tag,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
  };
}

/** The headers of a range of a body of this size. */
export function rangeHeaders({ start, end }: Range, size: number | null): Fields {
  return { 'Content-Length': String(end - start), 'Content-Range': `bytes ${start}-${end - 1}/${size}` };
}

/** A part of a text, and in a header what part it is. */
export function partResponse({ text, about, truncated }: Part): Response {
  return textResponse(text, {
    'Relay-Part': encodeURIComponent(about),
    ...(truncated ? { 'Relay-Truncated': '1' } : {}),
  });
}
