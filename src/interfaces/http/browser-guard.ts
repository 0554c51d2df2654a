import { RelayError } from '../../base/errors.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);

/** The guard of one server, for its requests and its WebSockets alike. */
export function browserGuard(o: {
  readonly publicUrl: string | null;
  readonly allowedHosts: readonly string[];
}): (request: Request) => void {
  const allowed = [...o.allowedHosts, ...(o.publicUrl ? [new URL(o.publicUrl).hostname] : [])];
  return (request) => guardBrowser(request, allowed);
}

/**
 * A web page can make a browser send requests to a relay on the same machine. It cannot choose the Host or Origin
 * header, so a foreign name in either (also by DNS rebinding) gives it away.
 */
export function guardBrowser(request: Request, allowed: readonly string[]): void {
  const host = request.headers.get('host');
  if (host !== null && !isAllowed(hostname(host), allowed)) {
    throw new RelayError('foreign_origin', { what: `the host ${JSON.stringify(host.slice(0, 100))}` });
  }
  const origin = request.headers.get('origin');
  if (origin !== null && !isAllowed(originHost(origin), allowed)) {
    throw new RelayError('foreign_origin', { what: `pages from ${JSON.stringify(origin.slice(0, 100))}` });
  }
}

function isAllowed(name: string | null, allowed: readonly string[]): boolean {
  if (name === null) return false;
  return LOOPBACK.has(name) || allowed.includes(name);
}

function hostname(host: string): string | null {
  return /^(\[[0-9a-f:.]+\]|[^:/@\s]+)(:\d+)?$/i.exec(host)?.[1]?.toLowerCase() ?? null;
}

function originHost(origin: string): string | null {
  try {
    return new URL(origin).hostname.toLowerCase();
  } catch {
    return null;
  }
}
