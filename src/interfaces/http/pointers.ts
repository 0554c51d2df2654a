import type { Context, Hono } from 'hono';
import { madeOnce } from '../../base/frozen.ts';
import { type Peeked, pointers } from '../../contract/pointers.ts';
import type { Relay } from '../../contract/relay.ts';
import type { RelayOf } from './callers.ts';
import { envelope } from './envelope.ts';
import { pushInput } from './push-request.ts';
import { isOn, partOf, queryOf } from './query.ts';
import { parseRange } from './range.ts';
import { metadataHeader, relayHeaders } from './relay-headers.ts';
import {
  bytesHeaders,
  bytesResponse,
  jsonHeaders,
  jsonResponse,
  TEXT_TYPE,
  textResponse,
} from './responses.ts';
import { viewerResponse } from './viewer/page.ts';

/** Payloads in and out: the routes that existing clients rely on, and what came on top. */
export function pointerRoutes(api: Hono, relayOf: RelayOf): void {
  api.post('/push', async (c) => {
    const relay = await relayOf(c, pointers.push);
    return jsonResponse(await relay.pointers.push(await pushInput(c)));
  });

  api.get('/peek/:id', async (c) => {
    const peeked = await (await relayOf(c, pointers.peek)).pointers.peek(c.req.param('id'));
    const { body, headers } = peekAnswer(peeked);
    return new Response(body, { headers });
  });

  api.on(['GET', 'HEAD'], '/pull/:id', async (c) => {
    const relay = await relayOf(c, pointers.pull);
    const id = c.req.param('id')!;
    if (c.req.method === 'HEAD') return headOf(relay, id);
    const query = queryOf(c.req.url);
    const part = partOf(query);
    if (isOn(query.get('cost'))) return jsonResponse(await relay.pointers.cost(id, part));
    const options = { idempotency_key: c.req.header('idempotency-key') };
    if (part) {
      const taken = await relay.pointers.part(id, part, options);
      return textResponse(taken.text, {
        'Relay-Part': encodeURIComponent(taken.about),
        ...(taken.truncated ? { 'Relay-Truncated': '1' } : {}),
      });
    }
    const accept = c.req.header('accept') ?? '';
    if (isOn(query.get('raw')) || accept.includes('application/octet-stream'))
      return rawOf(c, relay, id, options);
    if (accept.includes('text/html')) return viewerResponse();
    const pulled = await relay.pointers.pull(id, options);
    return textResponse(envelope(pulled), { Vary: 'Accept', ...relayHeaders(pulled.about) });
  });
}

/** Never touches the payload and never counts as a pull. */
async function headOf(relay: Relay, id: string): Promise<Response> {
  const peeked = await relay.pointers.peek(id);
  return new Response(null, { headers: wholeHeaders(peeked) });
}

async function rawOf(
  c: Context,
  relay: Relay,
  id: string,
  o: { idempotency_key?: string },
): Promise<Response> {
  const wantsRange = c.req.header('range');
  const knows = c.req.header('if-none-match');
  let range: { start: number; end: number } | null = null;
  if (wantsRange || knows) {
    const peeked = await relay.pointers.peek(id);
    if (knows && matches(knows, peeked.sha256)) {
      return bytesResponse(null, 304, rawHeaders(peeked.sha256, peeked.text));
    }
    const condition = c.req.header('if-range');
    if (!condition || condition === etag(peeked.sha256)) range = parseRange(wantsRange, peeked.size);
  }
  const pulled = await relay.pointers.pull(id, range ? { ...o, range } : o);
  const { about, body } = pulled;
  if (!pulled.range) return new Response(body as BodyInit, { headers: wholeHeaders(about) });
  const { start, end } = pulled.range;
  return bytesResponse(body, 206, {
    ...wholeHeaders(about),
    'Content-Length': String(end - start),
    'Content-Range': `bytes ${start}-${end - 1}/${about.size}`,
  });
}

/** A peek, as it is answered over and over for as long as the pointer stays what it is. */
const peekAnswer = madeOnce((peeked: Peeked) => ({
  body: JSON.stringify(peeked.metadata),
  headers: jsonHeaders(relayHeaders(peeked)),
}));

/** What goes before the whole payload. */
const wholeHeaders = madeOnce((peeked: Peeked) =>
  bytesHeaders({
    ...rawHeaders(peeked.sha256, peeked.text),
    'Content-Length': String(peeked.size),
    ...relayHeaders(peeked),
    ...metadataHeader(peeked),
  }),
);

/** Whatever the sender called it, a browser must never run it: text is shown as text, all else is a download. */
function rawHeaders(sha256: string, text: boolean): Record<string, string> {
  return {
    'Content-Type': text ? TEXT_TYPE : 'application/octet-stream',
    ...(text ? {} : { 'Content-Disposition': 'attachment' }),
    ETag: etag(sha256),
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    Vary: 'Accept',
  };
}

const etag = (sha256: string) => `"${sha256}"`;

function matches(header: string, sha256: string): boolean {
  return header.split(',').some((tag) => ['*', etag(sha256)].includes(tag.trim().replace(/^W\//, '')));
}
