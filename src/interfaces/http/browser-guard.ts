import { RelayError } from '../../base/errors.ts';
import { isLoopback } from '../../contract/pointer-url.ts';

/** Which names a relay answers to, and which pages may talk to it. */
export interface BrowserPolicy {
  /** Host names other than loopback; `*` for all. */
  readonly hosts: readonly string[];
  /** Whether keys are asked for, which no page has unless someone gave it one. */
  readonly keys: boolean;
  /** Whether it can be reached from other machines by its number: no name server can redirect a number. */
  readonly anyAddress: boolean;
  /** Origins other than the relay's own, such as `https://app.example`; `*` for all. */
  readonly origins: readonly string[];
}

/** The policy by a relay's options. With keys a rebound name leads to nothing, and every name is answered to. */
export function browserPolicy(o: {
  readonly auth?: 'open' | 'keys';
  readonly publicUrl: string | null;
  readonly allowedHosts: readonly string[];
  readonly corsOrigins?: readonly string[];
  readonly anyAddress: boolean;
}): BrowserPolicy {
  const keys = o.auth === 'keys';
  const named = o.publicUrl ? [new URL(o.publicUrl).hostname] : [];
  return {
    hosts: [...o.allowedHosts, ...named, ...(keys ? ['*'] : [])].map((host) => host.toLowerCase()),
    keys,
    anyAddress: o.anyAddress,
    origins: (o.corsOrigins ?? []).map((origin) => origin.toLowerCase()),
  };
}

/** What is looked at of a request. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  header(name: string): string | null;
}

/**
 * A web page can make a browser send requests to a relay on the same machine. It cannot choose the Host, Origin and
 * Sec-Fetch headers, so a foreign name in one of them (also by DNS rebinding) gives it away.
 */
export function guardBrowser(asked: Asked, policy: BrowserPolicy): void {
  const host = asked.header('host');
  if (host !== null && !isHostAllowed(hostname(host), policy)) {
    const name = JSON.stringify(host.slice(0, 100));
    throw new RelayError('foreign_origin', {
      what: `the host ${name}`,
      hint: `Call it by its own address, or add the name to "allowed_hosts" in its config.json and restart it; on a Worker, to RELAY_ALLOWED_HOSTS.`,
    });
  }
  const origin = asked.header('origin');
  if (origin !== null) {
    if (isOwnOrigin(origin, host, policy) || isOriginAllowed(origin, policy)) return;
    const page = JSON.stringify(origin.slice(0, 100));
    throw new RelayError('foreign_origin', {
      what: `pages from ${page}`,
      hint: `Let the page in with "cors_origins": [${page}] in config.json of the relay, or RELAY_CORS_ORIGINS, and restart it.`,
    });
  }
  // Without an Origin: an image, a frame, a form's GET, or someone who follows a link.
  const site = asked.header('sec-fetch-site');
  if (site === null || site === 'same-origin' || site === 'none') return;
  if (policy.origins.includes('*') || isVisit(asked)) return;
  throw new RelayError('foreign_origin', { what: 'parts of pages from elsewhere' });
}

/** A page that is meant to be looked at, opened by itself: not in a frame, and not fetched ahead of a visit that may never come. */
function isVisit(asked: Asked): boolean {
  return (
    asked.method === 'GET' &&
    asked.header('sec-fetch-mode') === 'navigate' &&
    asked.header('sec-fetch-dest') === 'document' &&
    asked.header('sec-purpose') === null &&
    PAGES.test(asked.url.replace(/^https?:\/\/[^/]*/, ''))
  );
}

/** The greeting, a pointer’s page, which a query would make something else of, and the dashboard. None has an effect. */
const PAGES = /^(?:\/v1)?\/(?:pull\/[^/?]+\/?)?$|^\/ui(?:[/?].*)?$/;

/** Configured, as opposed to the relay's own. */
function isOriginAllowed(origin: string, policy: BrowserPolicy): boolean {
  return policy.origins.includes('*') || policy.origins.includes(origin.toLowerCase());
}

export function isLoopbackHost(host: string | null): boolean {
  return host !== null && isLoopback(hostname(host) ?? '');
}

function isHostAllowed(name: string | null, policy: BrowserPolicy): boolean {
  if (name === null) return false;
  if (isLoopback(name) || policy.hosts.includes(name) || policy.hosts.includes('*')) return true;
  return policy.anyAddress && isNumber(name);
}

/** The same host and port that the request was sent to, or one of the names the relay goes by. */
function isOwnOrigin(origin: string, host: string | null, policy: BrowserPolicy): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  if (host !== null && url.host === host.toLowerCase().replace(DEFAULT_PORTS[url.protocol] ?? /$^/, '')) {
    return true;
  }
  return url.port === '' && policy.hosts.includes(url.hostname);
}

const DEFAULT_PORTS: { readonly [protocol: string]: RegExp } = { 'http:': /:80$/, 'https:': /:443$/ };

function isNumber(name: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(name) || name.startsWith('[');
}

function hostname(host: string): string | null {
  return /^(\[[0-9a-f:.]+\]|[^:/@\s]+)(:\d+)?$/i.exec(host)?.[1]?.toLowerCase() ?? null;
}

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

/**
 * Lets a page that is not allowed read why, and nothing else: every request of it is refused. Only where keys are asked for;
 * in open mode a page does not even learn that there is a relay.
 */
export function refusalHeaders(asked: Asked, policy: BrowserPolicy): Record<string, string> | null {
  const origin = asked.header('origin');
  return origin !== null && policy.keys ? { 'Access-Control-Allow-Origin': origin } : null;
}

export function allowReading(headers: Headers, cors: Record<string, string>): void {
  for (const [name, value] of Object.entries(cors)) headers.set(name, value);
  // The answer may differ by more than the origin already.
  headers.append('Vary', 'Origin');
}

export function preflightResponse(asked: Asked, maxAge = MAX_AGE_S): Response {
  const wanted = asked.header('access-control-request-headers') ?? '';
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': METHODS,
      // `*` would leave Authorization out.
      'Access-Control-Allow-Headers': /^[\w\-, ]{0,1000}$/.test(wanted) ? wanted : '',
      'Access-Control-Max-Age': String(maxAge),
    },
  });
}
