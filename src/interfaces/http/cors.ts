import { type Asked, type BrowserPolicy, isOriginAllowed } from './browser-guard.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** How long a browser may remember the answer to a preflight. */
const MAX_AGE_S = 600;

/** What a page from another, allowed origin needs to read an answer; null for everyone else. Keys travel in a header, cookies never. */
export function corsHeaders(asked: Asked, policy: BrowserPolicy): Record<string, string> | null {
  if (policy.origins.length === 0) return null;
  const origin = asked.header('origin');
  if (origin === null || !isOriginAllowed(origin, policy)) return null;
  return {
    'Access-Control-Allow-Origin': policy.origins.includes('*') ? '*' : origin,
    'Access-Control-Expose-Headers': '*',
    'Cross-Origin-Resource-Policy': 'cross-origin',
  };
}

export function allowReading(headers: Headers, cors: Record<string, string>): void {
  for (const [name, value] of Object.entries(cors)) headers.set(name, value);
  // The answer may differ by more than the origin already.
  headers.append('Vary', 'Origin');
}

export function preflightResponse(asked: Asked): Response {
  const wanted = asked.header('access-control-request-headers') ?? '';
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': METHODS,
      // `*` would leave Authorization out.
      'Access-Control-Allow-Headers': /^[\w\-, ]{0,1000}$/.test(wanted) ? wanted : '',
      'Access-Control-Max-Age': String(MAX_AGE_S),
    },
  });
}
