import type { Context } from 'hono';
import { toBase64 } from '../../base/base64.ts';
import { joined } from '../../base/byte-streams.ts';
import { madeOnce } from '../../base/json.ts';
import {
  type Inspected,
  type Peeked,
  type Pulled,
  type PullOptions,
  pointers,
} from '../../contract/pointers.ts';
import type { Relay } from '../../contract/relay.ts';
import { parsePartRequest } from '../../text/parts/part-request.ts';
import type { Serve } from './callers.ts';
import { pageResponse } from './dashboard.ts';
import type { HttpDeps } from './deps.ts';
import { metadataHeader } from './metadata-header.ts';
import { pushInput } from './push-request.ts';
import { isOn, parseRange } from './request-fields.ts';
import { notesOf, type RequestNotes } from './request-watch.ts';
import {
  bytesHeaders,
  bytesResponse,
  jsonHeaders,
  jsonResponse,
  TEXT_TYPE,
  textResponse,
} from './responses.ts';

/** Payloads in and out: the routes that existing clients rely on, and what came on top. */
export function pointerRoutes(serve: Serve, deps: Pick<HttpDeps, 'dashboard'>): void {
  serve(pointers.push, async (relay, c) => jsonResponse(await relay.pointers.push(await pushInput(c))));

  serve(pointers.peek, async (relay, c) => {
    const peeked = await relay.pointers.peek(c.req.param('id')!);
    const { body, headers } = peekAnswer(peeked);
    return new Response(body, { headers });
  });

  serve(pointers.pull, async (relay, c) => {
    const id = c.req.param('id')!;
    // Never touches the payload and never counts as a pull.
    if (c.req.method === 'HEAD')
      return new Response(null, { headers: wholeHeaders(await relay.pointers.peek(id)) });
    const query = c.req.query();
    // `?lines=10-40`, `?grep=…`, `?json=/a/b` or `?outline=1`; none of them where the whole is asked for.
    const part = parsePartRequest(query) ?? undefined;
    if (isOn(query, 'cost')) return jsonResponse(await relay.pointers.cost(id, part, whileHere(c)));
    const notes = notesOf(c);
    const options = {
      idempotency_key: notes.header('idempotency-key') ?? undefined,
      keyless: notes.header('relay-keyless') === '1',
    };
    if (part) {
      const taken = await relay.pointers.part(id, part, { ...options, ...whileHere(c) });
      return textResponse(taken.text, {
        'Relay-Part': encodeURIComponent(taken.about),
        ...(taken.truncated ? { 'Relay-Truncated': '1' } : {}),
      });
    }
    const accept = notes.header('accept') ?? '';
    if (isOn(query, 'raw') || accept.includes('application/octet-stream'))
      return rawOf(notes, relay, id, options);
    // The page is the same for every pointer and touches none, so a link preview costs no pull.
    if (accept.includes('text/html')) return pageResponse(c, deps.dashboard, 'pull.html');
    const pulled = await relay.pointers.pull(id, options);
    return textResponse(envelope(pulled), { Vary: 'Accept', ...relayHeaders(known(pulled.about)) });
  });
}

/** Work on a payload ends when the client leaves. Whoever asks for the whole waits for none, and a signal costs time to make. */
const whileHere = (c: Context) => ({ signal: c.req.raw.signal });

async function rawOf(notes: RequestNotes, relay: Relay, id: string, o: PullOptions): Promise<Response> {
  const wantsRange = notes.header('range');
  const knows = notes.header('if-none-match');
  let range: { start: number; end: number } | null = null;
  if (wantsRange || knows) {
    const peeked = known(await relay.pointers.peek(id));
    if (knows && matches(knows, peeked.sha256)) {
      return bytesResponse(null, 304, rawHeaders(peeked.sha256, peeked.text));
    }
    const condition = notes.header('if-range');
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
const peekAnswer = madeOnce((peeked: Inspected) => ({
  body: JSON.stringify(peeked.metadata),
  headers: jsonHeaders(relayHeaders(known(peeked))),
}));

/** What goes before the whole payload. */
const wholeHeaders = madeOnce((about: Inspected) => {
  const peeked = known(about);
  return bytesHeaders({
    ...rawHeaders(peeked.sha256, peeked.text),
    'Content-Length': String(peeked.size),
    ...relayHeaders(peeked),
    ...metadataHeader(peeked.metadata),
  });
});

/** A server asks its own store, where all of a pointer is known. */
const known = (about: Inspected) => about as Peeked;

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

/** What is known of a pointer, as response headers. Free text is percent-encoded: headers are ASCII. */
function relayHeaders(p: Peeked): Record<string, string> {
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
  if (p.key_check !== undefined) headers['Relay-Key-Check'] = p.key_check;
  if (p.tokens) {
    const { tokens, tokenizer, estimated } = p.tokens;
    headers['Relay-Tokens'] = `${tokens}; ${tokenizer}${estimated ? '; estimated' : ''}`;
  }
  return headers;
}

/** Of payloads in memory, which are the same bytes for all who pull them: on a channel that is every subscriber. */
const envelopes = new WeakMap<Uint8Array, Uint8Array>();

const utf8 = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** `{"data": …, "metadata": …}`, as existing clients expect it, written without ever holding a large payload whole. */
function envelope({ body, about }: Pulled): Uint8Array | ReadableStream<Uint8Array> {
  if (!(body instanceof Uint8Array)) return streamedEnvelope(body, about);
  let made = envelopes.get(body);
  if (made === undefined) {
    const { text, metadata } = about;
    const data = text ? decoder.decode(body) : toBase64(body);
    made = utf8.encode(JSON.stringify({ data, metadata, ...(text ? {} : { encoding: 'base64' }) }));
    envelopes.set(body, made);
  }
  return made;
}

function streamedEnvelope(
  body: ReadableStream<Uint8Array>,
  { text, metadata }: Inspected,
): ReadableStream<Uint8Array> {
  const encode = text ? jsonEscaper() : base64Encoder();
  const tail = `","metadata":${JSON.stringify(metadata)}${text ? '' : ',"encoding":"base64"'}}`;
  return body.pipeThrough(
    new TransformStream({
      start: (controller) => controller.enqueue(utf8.encode('{"data":"')),
      transform: (bytes, controller) => controller.enqueue(utf8.encode(encode(bytes, true))),
      flush: (controller) => controller.enqueue(utf8.encode(encode(new Uint8Array(0), false) + tail)),
    }),
  );
}

/** Writes bytes as they stand inside a JSON string. While there is more to come, what is incomplete waits for it. */
type Encoder = (bytes: Uint8Array, more: boolean) => string;

/** The decoder holds back a character that a chunk cuts in two, so each piece can be escaped by itself. */
function jsonEscaper(): Encoder {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return (bytes, more) => JSON.stringify(decoder.decode(bytes, { stream: more })).slice(1, -1);
}

/** Three bytes make four characters; what does not fill three waits for the next chunk. */
function base64Encoder(): Encoder {
  let left = new Uint8Array(0);
  return (bytes, more) => {
    const all = joined([left, bytes]);
    const whole = more ? all.length - (all.length % 3) : all.length;
    left = all.slice(whole);
    return toBase64(all.subarray(0, whole));
  };
}
