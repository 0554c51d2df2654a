import { A2A_CONTENT_TYPE, formatSSEErrorEvent, formatSSEEvent, SSE_HEADERS } from '@a2a-js/sdk';
import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors';
import type { Context } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { A2A_REQUEST_BYTES, SSE_HEARTBEAT_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { Caller } from '../../contract/caller.ts';
import type { KeyWatch } from '../../domain/keys/key-watch.ts';
import { BY_POINTER, jsonText } from '../body-text.ts';
import { eventResponse } from '../event-response.ts';

export function readBody(request: Request, bytes = A2A_REQUEST_BYTES): Promise<string> {
  return jsonText(request, { bytes, what: 'an A2A request', hint: BY_POINTER });
}

/** A body without a media type is taken for what it should be. */
export function checkMediaType(c: Context): void {
  const type = mediaType(c.req.header('content-type'));
  if (type && type !== 'application/json' && type !== A2A_CONTENT_TYPE)
    throw new ContentTypeNotSupportedError(`Send application/json or ${A2A_CONTENT_TYPE}, not ${type}.`);
}

/** Of an answer over HTTP+JSON: revisions of 1.0 differ about the media type, so it is the one that the client speaks. */
export function answerType(c: Context): string {
  const accepted = (c.req.header('accept') ?? '').split(',').map(mediaType);
  const speaks = mediaType(c.req.header('content-type')) === A2A_CONTENT_TYPE;
  return speaks || accepted.includes(A2A_CONTENT_TYPE) ? A2A_CONTENT_TYPE : 'application/json';
}

function mediaType(header = ''): string {
  return header.split(';', 1)[0]!.trim().toLowerCase();
}

/** Server-sent events. What goes wrong before the first is thrown, to be answered as if it were no stream. */
export async function asEvents(
  events: AsyncIterable<unknown>,
  failure: (error: unknown) => unknown,
): Promise<Response> {
  const iterator = events[Symbol.asyncIterator]();
  const first = await iterator.next();
  return eventResponse(from(first, iterator), {
    write: formatSSEEvent,
    failed: (error) => formatSSEErrorEvent(failure(error)),
    headers: SSE_HEADERS,
    ended: async () => void (await iterator.return?.()),
  });
}

async function* from(first: IteratorResult<unknown>, rest: AsyncIterator<unknown>): AsyncGenerator<unknown> {
  for (let next = first; !next.done; next = await rest.next()) yield next.value;
}

/** An answer that may take minutes, refused as soon as the key that it was asked for with no longer works. */
export async function untilKeyEnds(
  watch: KeyWatch,
  caller: Caller,
  answer: (ended: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const ended = new AbortController();
  const refused = Promise.withResolvers<never>();
  const unwatch = watch.watch(caller, () => {
    refused.reject(new RelayError('unauthorized'));
    ended.abort();
  });
  try {
    return await Promise.race([answer(ended.signal), refused.promise]);
  } finally {
    unwatch();
  }
}

/**
 * An answer that may take minutes. One that takes longer than a heartbeat begins with spaces, which mean nothing in JSON,
 * so that no proxy takes the connection for dead.
 */
export async function withHeartbeat(answer: Promise<Response>): Promise<Response> {
  const settled = new AbortController();
  const waited = pause(SSE_HEARTBEAT_MS, settled.signal).then(() => null);
  const early = await Promise.race([answer, waited]).finally(() => settled.abort());
  if (early) return early;
  const headers = { 'Content-Type': 'application/json' };
  return eventResponse(bodyOf(answer), { write: (body) => body, head: ' ', heartbeat: ' ', headers });
}

async function* bodyOf(answer: Promise<Response>): AsyncGenerator<string> {
  yield await (await answer).text();
}
