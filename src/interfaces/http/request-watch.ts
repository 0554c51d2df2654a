import type { Caller } from '../../contract/caller.ts';
import type { Verb } from '../../contract/verb.ts';
import { type Asked, allowReading, corsHeaders, guardBrowser, preflightResponse } from './browser-guard.ts';
import { type ClientAddress, clientAddress } from './client-address.ts';
import type { HttpDeps } from './deps.ts';
import { failureResponse } from './failures.ts';
import type { Metrics } from './metrics.ts';
import type { Noted, RequestNotes } from './request-notes.ts';

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
    const asked = new AskedBy(deps, request, env);
    const notes = new Notes(deps, asked, env);
    deps.tellId?.(env, notes.id);
    const cors = corsHeaders(asked, browsers);
    const done = (response: Response): Response => {
      if (cors) allowReading(response.headers, cors);
      tell(deps, metrics, asked, notes, response.status, performance.now() - began);
      return response;
    };
    try {
      guardBrowser(asked, browsers);
    } catch (error) {
      return done(failureResponse(error, request, deps, notes));
    }
    if (cors && request.method === 'OPTIONS') return done(preflightResponse(asked));
    const answer = next(request, { notes });
    return answer instanceof Promise ? answer.then(done) : done(answer);
  };
}

function tell(
  deps: HttpDeps,
  metrics: Metrics,
  asked: Asked,
  notes: RequestNotes,
  status: number,
  ms: number,
): void {
  const operation = notes.operation?.name ?? 'other';
  metrics.record(operation, status, ms);
  deps.observe?.({
    id: notes.id,
    method: asked.method,
    operation,
    status,
    at: Date.now() - ms,
    ms,
    address: notes.client.address,
    caller: notes.caller,
    traceparent: asked.header('traceparent'),
  });
}

/** Reads headers without having a Headers object made, where the runtime can do that. */
class AskedBy implements Asked {
  readonly #deps: HttpDeps;
  readonly #request: Request;
  readonly #env: unknown;

  constructor(deps: HttpDeps, request: Request, env: unknown) {
    this.#deps = deps;
    this.#request = request;
    this.#env = env;
  }

  get method(): string {
    return this.#request.method;
  }

  header(name: string): string | null {
    const { headerOf } = this.#deps;
    return headerOf ? headerOf(this.#env, name) : this.#request.headers.get(name);
  }
}

const start = crypto.randomUUID().slice(0, 8);
let count = 0;

class Notes implements RequestNotes {
  operation: Pick<Verb, 'name'> | null = null;
  caller: Caller | null = null;
  readonly id = `${start}-${++count}`;
  readonly #deps: HttpDeps;
  readonly #asked: Asked;
  readonly #env: unknown;
  #client: ClientAddress | null = null;

  constructor(deps: HttpDeps, asked: Asked, env: unknown) {
    this.#deps = deps;
    this.#asked = asked;
    this.#env = env;
  }

  get client(): ClientAddress {
    const { peerOf, isTrustedProxy } = this.#deps;
    this.#client ??= clientAddress((name) => this.#asked.header(name), peerOf(this.#env), isTrustedProxy);
    return this.#client;
  }
}
