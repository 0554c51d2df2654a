import { RelayError } from '../../base/errors.ts';
import { isLoopback } from '../../contract/pointer-url.ts';

/** Host names that the relay answers to, and web origins that may call it. */
export interface BrowserPolicy {
  /** Allowed host names besides loopback. `*` allows all. */
  readonly hosts: readonly string[];
  /** True if the relay requires API keys, which web pages of other sites do not have. */
  readonly keys: boolean;
  /** True if any IP address is allowed as the host. That is safe: DNS rebinding needs a host name. */
  readonly anyAddress: boolean;
  /** Allowed origins besides the relay's own, such as `https://app.example`. `*` allows all. */
  readonly origins: readonly string[];
}

/**
 * Builds the policy from the options of the relay. If API keys are required, all host names are allowed,
 * because DNS rebinding then gains nothing.
 */
export function browserPolicy(o: {
  readonly auth?: 'open' | 'keys';
  readonly publicUrl: string | null;
  readonly allowedHosts: readonly string[];
  readonly corsOrigins?: readonly string[];
  readonly anyAddress: boolean;
}): BrowserPolicy {
  const keys = o.auth === 'keys';
  const publicHosts = o.publicUrl ? [new URL(o.publicUrl).hostname] : [];
  return {
    hosts: [...o.allowedHosts, ...publicHosts, ...(keys ? ['*'] : [])].map((host) => host.toLowerCase()),
    keys,
    anyAddress: o.anyAddress,
    origins: (o.corsOrigins ?? []).map((origin) => origin.toLowerCase()),
  };
}

/** The parts of a request that the guard checks. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  header(name: string): string | null;
}

/**
 * Rejects requests that a browser sends for a web page of another site. The browser sets the headers Host, Origin and
 * Sec-Fetch, and the page cannot change them, so a foreign name in one of them reveals such a request. This also
 * stops DNS rebinding.
 */
export function guardBrowser(request: RequestHead, policy: BrowserPolicy): void {
  const host = request.header('host');
  if (host !== null && !isHostAllowed(hostname(host), policy)) {
    const name = JSON.stringify(host.slice(0, 100));
    throw new RelayError('foreign_origin', {
      what: `the host ${name}`,
      hint: `Use the relay's own address, or add this host to "allowed_hosts" in its config.json and restart it. On a Worker, set RELAY_ALLOWED_HOSTS.`,
    });
  }
  const origin = request.header('origin');
  if (origin !== null) {
    if (isOwnOrigin(origin, host, policy) || isOriginAllowed(origin, policy)) return;
    const page = JSON.stringify(origin.slice(0, 100));
    throw new RelayError('foreign_origin', {
      what: `pages from ${page}`,
      hint: `Allow the page with "cors_origins": [${page}] in the relay's config.json, or with RELAY_CORS_ORIGINS, and restart the relay.`,
    });
  }
  // Without an Origin header, the request comes from an image, a frame, a GET form or a link.
  const site = request.header('sec-fetch-site');
  if (site === null || site === 'same-origin' || site === 'none') return;
  if (policy.origins.includes('*') || isVisit(request)) return;
  throw new RelayError('foreign_origin', {
    message: 'Refused: a page of another site embeds this address or links to it.',
    hint: `Open the address directly. To let pages of all sites use the relay, set "cors_origins" to ["*"] in its config.json and restart it.`,
  });
}

/** Returns whether a user opens one of our pages in a browser tab, not in a frame or by prefetch. */
function isVisit(request: RequestHead): boolean {
  return (
    request.method === 'GET' &&
    request.header('sec-fetch-mode') === 'navigate' &&
    request.header('sec-fetch-dest') === 'document' &&
    request.header('sec-purpose') === null &&
    PAGES.test(request.url.replace(/^https?:\/\/[^/]*/, ''))
  );
}

/**
 * Matches the paths of pages that change nothing: greeting, pointer, form of a question, dashboard. A
 * pointer's path must have no query, which would return the payload.
 */
const PAGES = /^(?:\/v1)?\/(?:pull\/[^/?]+\/?)?$|^\/answer\/[^/?]+$|^\/ui(?:[/?].*)?$/;

/** Returns whether the configuration allows this origin. */
function isOriginAllowed(origin: string, policy: BrowserPolicy): boolean {
  return policy.origins.includes('*') || policy.origins.includes(origin.toLowerCase());
}

export function isLoopbackHost(host: string | null): boolean {
  return host !== null && isLoopback(hostname(host) ?? '');
}

function isHostAllowed(name: string | null, policy: BrowserPolicy): boolean {
  if (name === null) return false;
  if (isLoopback(name) || policy.hosts.includes(name) || policy.hosts.includes('*')) return true;
  return policy.anyAddress && isIpAddress(name);
}

/** Returns whether the origin is the host and port of the request or a configured host name of the relay. */
function isOwnOrigin(origin: string, host: string | null, policy: BrowserPolicy): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  if (host !== null && url.host === host.toLowerCase().replace(DEFAULT_PORTS[url.protocol] ?? /$^/, '')) {
    return true;
  }
  return url.port === '' && policy.hosts.includes(url.hostname);
}

const DEFAULT_PORTS: { readonly [protocol: string]: RegExp } = { 'http:': /:80$/, 'https:': /:443$/ };

function isIpAddress(name: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(name) || name.startsWith('[');
}

function hostname(host: string): string | null {
  return /^(\[[0-9a-f:.]+\]|[^:/@\s]+)(:\d+)?$/i.exec(host)?.[1]?.toLowerCase() ?? null;
}

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Number of seconds for which a browser may cache a preflight response. */
const MAX_AGE_S = 600;

/** Returns the CORS headers for an allowed foreign origin, otherwise null. They never allow cookies. */
export function corsHeaders(request: RequestHead, policy: BrowserPolicy): Record<string, string> | null {
  if (policy.origins.length === 0) return null;
  const origin = request.header('origin');
  if (origin === null || !isOriginAllowed(origin, policy)) return null;
  return {
    'Access-Control-Allow-Origin': policy.origins.includes('*') ? '*' : origin,
    'Access-Control-Expose-Headers': '*',
    'Cross-Origin-Resource-Policy': 'cross-origin',
  };
}

/**
 * Returns headers that let a rejected page read the error and nothing else. Returns null if the relay
 * requires no API keys: a foreign page must then not even learn that a relay is here.
 */
export function refusalHeaders(request: RequestHead, policy: BrowserPolicy): Record<string, string> | null {
  const origin = request.header('origin');
  return origin !== null && policy.keys ? { 'Access-Control-Allow-Origin': origin } : null;
}

export function addCorsHeaders(headers: Headers, cors: Record<string, string>): void {
  for (const [name, value] of Object.entries(cors)) headers.set(name, value);
  // Append, because the response may already have a Vary header.
  headers.append('Vary', 'Origin');
}

export function preflightResponse(request: RequestHead, maxAge = MAX_AGE_S): Response {
  const requestedHeaders = request.header('access-control-request-headers') ?? '';
  return new Response(null, {
    status: 204,
    headers: {
      'Access-Control-Allow-Methods': METHODS,
      // Repeat the requested names: `*` would not include Authorization.
      'Access-Control-Allow-Headers': /^[\w\-, ]{0,1000}$/.test(requestedHeaders) ? requestedHeaders : '',
      'Access-Control-Max-Age': String(maxAge),
    },
  });
}
