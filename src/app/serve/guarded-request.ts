import { lookup } from 'node:dns';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';

/** Which addresses may be connected to, and what is said where one may not. */
export interface AddressGuard {
  allow(address: string): boolean;
  refuse(host: string): Error;
}

/**
 * Sends a request and gives its answer; redirects are not followed. The connection is made to the very address that was
 * checked, so that a name cannot come to mean another one in between.
 */
export async function guardedRequest(
  url: URL,
  guard: AddressGuard,
  { body, ...options }: Pick<RequestOptions, 'method' | 'headers' | 'signal'> & { readonly body?: string },
): Promise<IncomingMessage> {
  checkLiteral(url, guard);
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const asked = request(url, { ...options, agent: false, lookup: guardedLookup(guard) }, resolve);
    asked.on('error', reject);
    asked.end(body);
  });
}

/** Whether a request to this host would be sent now; throws where not. */
export async function checkHost(url: URL, guard: AddressGuard): Promise<void> {
  if (checkLiteral(url, guard)) return;
  await new Promise<void>((resolve, reject) => {
    guardedLookup(guard)(url.hostname, {}, (error) => (error ? reject(error) : resolve()));
  });
}

/** A literal address is never looked up, so it is checked here. False where the host is a name. */
function checkLiteral(url: URL, guard: AddressGuard): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) return false;
  if (!guard.allow(host)) throw guard.refuse(url.hostname);
  return true;
}

/** Every address of the name must be allowed: one that is not could be the one that is taken. */
function guardedLookup({ allow, refuse }: AddressGuard): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '', 0);
      const [first] = found;
      if (!first || !found.every(({ address }) => allow(address))) return done(refuse(hostname), '', 0);
      if (options.all) return done(null, found);
      return done(null, first.address, first.family);
    });
  };
}
