import type { Context } from 'hono';
import { ERRORS, isRelayError, RelayError } from '../../base/errors.ts';
import type { HttpDeps } from './deps.ts';
import { WHOLE_BODY_BYTES } from './push-request.ts';
import { jsonResponse } from './responses.ts';

/** Errors from the table are answered as they are; anything else is logged in full and shown in brief. */
export function failureResponse(error: unknown, c: Context, deps: HttpDeps): Response {
  if (isRelayError(error)) return respond(error, c);
  const request = crypto.randomUUID().slice(0, 8);
  deps.log({
    level: 'error',
    event: 'unexpected',
    request,
    method: c.req.method,
    path: c.req.path,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return respond(new RelayError('internal', { request }), c);
}

function respond(error: RelayError, c: Context): Response {
  const headers: Record<string, string> = {};
  if (error.code === 'range_not_satisfiable') headers['Content-Range'] = `bytes */${error.details.size}`;
  if (error.code === 'method_not_allowed') headers.Allow = String(error.details.allowed);
  if (error.code === 'unauthorized') headers['WWW-Authenticate'] = 'Bearer realm="relay"';
  if (mayBeUnread(c)) headers.Connection = 'close';
  return jsonResponse(error, { status: answerable(error.status), headers });
}

/** 499 is for the log: whoever went away reads no answer. */
function answerable(status: number): number {
  return status === ERRORS.aborted.status ? 400 : status;
}

/** A body that was refused half-way is not worth reading to its end, so the connection cannot carry another request. */
function mayBeUnread(c: Context): boolean {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return false;
  const length = c.req.header('content-length');
  return length === undefined || Number(length) > WHOLE_BODY_BYTES;
}
