import type { Context } from 'hono';
import { ERRORS, isRelayError, RelayError } from '../../base/errors.ts';
import type { HttpDeps } from './deps.ts';
import { jsonResponse } from './responses.ts';

/** Errors from the table are answered as they are; anything else is logged in full and shown in brief. */
export function failureResponse(error: unknown, c: Context, deps: HttpDeps): Response {
  if (isRelayError(error)) return respond(error);
  const request = crypto.randomUUID().slice(0, 8);
  deps.log({
    level: 'error',
    event: 'unexpected',
    request,
    method: c.req.method,
    path: c.req.path,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return respond(new RelayError('internal', { request }));
}

function respond(error: RelayError): Response {
  const headers: Record<string, string> = {};
  if (error.code === 'range_not_satisfiable') headers['Content-Range'] = `bytes */${error.details.size}`;
  if (error.code === 'method_not_allowed') headers.Allow = String(error.details.allowed);
  if (error.code === 'unauthorized') headers['WWW-Authenticate'] = 'Bearer realm="relay"';
  // What is left of the body is not worth reading.
  if (error.code === 'too_large') headers.Connection = 'close';
  return jsonResponse(error, { status: answerable(error.status), headers });
}

/** 499 is for the log: whoever went away reads no answer. */
function answerable(status: number): number {
  return status === ERRORS.aborted.status ? 400 : status;
}
