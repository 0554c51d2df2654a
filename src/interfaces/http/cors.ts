import { type BrowserPolicy, isOriginAllowed } from './browser-guard.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** How long a browser may remember the answer to a preflight. */
const MAX_AGE_S = 600;

/** What a page from another, allowed origin needs to read an answer; null for everyone else. Keys travel in a header, cookies never. */
export function corsHeaders(request: Request, policy: BrowserPolicy): Record<string, string> | null {
  const origin = request.headers.get('origin');
  if (origin === null || policy.origins.length === 0 || !isOriginAllowed(origin, policy)) return null;
  return {
    'Access-Control-Allow-Origin': policy.origins.includes('*') ? '*' : origin,
    'Access-Control-Expose-Headers': '*',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    Vary: 'Origin',
  };
}

export function preflightResponse(request: Request, cors: Record<string, string>): Response {
  const asked = request.headers.get('access-control-request-headers') ?? '';
  return new Response(null, {
    status: 204,
    headers: {
      ...cors,
      'Access-Control-Allow-Methods': METHODS,
      // `*` would leave Authorization out.
      'Access-Control-Allow-Headers': /^[\w\-, ]{0,1000}$/.test(asked) ? asked : '',
      'Access-Control-Max-Age': String(MAX_AGE_S),
    },
  });
}
