import { ERRORS, isRelayError, RelayError } from '../../base/errors.ts';
import type { HttpDeps } from './deps.ts';
import { WHOLE_BODY_BYTES } from './push-request.ts';
import { jsonResponse } from './responses.ts';

/** Errors from the table are answered as they are; anything else is logged in full and shown in brief. */
export function failureResponse(error: unknown, asked: Request, deps: HttpDeps): Response {
  if (isRelayError(error)) return respond(error, asked);
  const request = crypto.randomUUID().slice(0, 8);
  deps.log({
    level: 'error',
    event: 'unexpected',
    request,
    method: asked.method,
    path: new URL(asked.url).pathname,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return respond(new RelayError('internal', { request }), asked);
}

function respond(error: RelayError, asked: Request): Response {
  const headers: Record<string, string> = {};
  if (error.code === 'range_not_satisfiable') headers['Content-Range'] = `bytes */${error.details.size}`;
  if (error.code === 'method_not_allowed') headers.Allow = String(error.details.allowed);
  if (error.code === 'unauthorized') headers['WWW-Authenticate'] = 'Bearer realm="relay"';
  if (mayBeUnread(asked)) headers.Connection = 'close';
  return jsonResponse(error, { status: answerable(error.status), headers });
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
