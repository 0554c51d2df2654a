import { guardBrowser } from './browser-guard.ts';
import { clientAddress } from './client-address.ts';
import { corsHeaders, preflightResponse } from './cors.ts';
import type { HttpDeps } from './deps.ts';
import { failureResponse } from './failures.ts';
import type { Metrics } from './metrics.ts';
import { type Noted, type RequestNotes, requestId } from './request-notes.ts';

type Answer = Response | Promise<Response>;

/** Around every request: refuses what a foreign page made, answers preflights, and tells what came of it. */
export function watchOver(
  deps: HttpDeps,
  metrics: Metrics,
  next: (request: Request, env: Noted) => Answer,
): (request: Request, env?: unknown) => Answer {
  const { browsers } = deps;
  return (request, env) => {
    const began = performance.now();
    const client = clientAddress(request.headers, deps.peerOf(env), deps.isTrustedProxy);
    const notes: RequestNotes = { client, operation: null, caller: null, id: null };
    deps.tellId?.(env, requestId(notes));
    const cors = corsHeaders(request, browsers);
    const done = (response: Response): Response => {
      if (cors) for (const [name, value] of Object.entries(cors)) response.headers.set(name, value);
      tell(deps, metrics, request, notes, response.status, performance.now() - began);
      return response;
    };
    try {
      guardBrowser(request, browsers);
    } catch (error) {
      return done(failureResponse(error, request, deps, notes));
    }
    if (cors && request.method === 'OPTIONS') return done(preflightResponse(request, cors));
    const answer = next(request, { notes });
    return answer instanceof Promise ? answer.then(done) : done(answer);
  };
}

function tell(
  deps: HttpDeps,
  metrics: Metrics,
  request: Request,
  notes: RequestNotes,
  status: number,
  ms: number,
): void {
  const operation = notes.operation?.name ?? 'other';
  metrics.record(operation, status, ms);
  deps.observe?.({
    id: notes.id,
    method: request.method,
    operation,
    status,
    at: Date.now() - ms,
    ms,
    address: notes.client.address,
    caller: notes.caller,
    traceparent: request.headers.get('traceparent'),
  });
}
