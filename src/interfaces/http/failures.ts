import { ERRORS, isRelayError, RelayError } from '../../base/errors.ts';
import type { HttpDeps } from './deps.ts';
import { WHOLE_BODY_BYTES } from './push-request.ts';
import type { RequestNotes } from './request-notes.ts';
import { jsonResponse } from './responses.ts';

/** Errors from the table are answered as they are; anything else is logged in full and shown in brief. */
export function failureResponse(
  error: unknown,
  asked: Request,
  deps: HttpDeps,
  notes: RequestNotes,
): Response {
  if (isRelayError(error)) return respond(error, asked);
  const request = notes.id;
  deps.log({
    level: 'error',
    event: 'unexpected',
    request,
    method: asked.method,
    operation: notes.operation?.name ?? 'other',
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return respond(new RelayError('internal', { request }), asked);
}

function respond(error: RelayError, asked: Request): Response {
  const headers: Record<string, string> = {};
  if (error.code === 'range_not_satisfiable') headers['Content-Range'] = `bytes */${error.details.size}`;
  if (error.code === 'method_not_allowed') headers.Allow = String(error.details.allowed);
  if (error.code === 'unauthorized') headers['WWW-Authenticate'] = 'Bearer realm="relay"';
  if (error.code === 'rate_limited') headers['Retry-After'] = String(error.details.seconds);
  if (mayBeUnread(asked)) headers.Connection = 'close';
  return jsonResponse(bodyOf(error), { status: answerable(error.status), headers });
}

/** A program that is over its limit wants to know when to come back, without reading a sentence. */
function bodyOf(error: RelayError): object {
  if (error.code !== 'over_quota') return error;
  const { plan, limit, used, reset } = error.details;
  return { ...error.toJSON(), plan, limit, used, reset };
}

/** 499 is for the log: whoever went away reads no answer. */
function answerable(status: number): number {
  return status === ERRORS.aborted.status ? 400 : status;
}

/** A body that was refused half-way is not worth reading to its end, so the connection cannot carry another request. */
function mayBeUnread(asked: Request): boolean {
  if (asked.method === 'GET' || asked.method === 'HEAD') return false;
  const length = asked.headers.get('content-length');
  return length === null || Number(length) > WHOLE_BODY_BYTES;
}
