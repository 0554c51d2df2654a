import { lookup } from 'node:dns';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { RelayError } from '../../base/errors.ts';
import { FETCH_REDIRECTS, WEBHOOK_TIME_MS } from '../../base/limits.ts';
import { isLoopback } from '../../contract/pointer-url.ts';
import type { PublicFetch } from '../../domain/threads/capabilities/built-in.ts';
import type { WebhookPost } from '../../interfaces/a2a/webhooks.ts';
import { isPublicAddress } from './addresses.ts';

/** This file sends requests to addresses that users chose. Such requests must not reach our own network. */

/**
 * Returns a function that fetches only from the public internet and checks every redirect. `allow` is for
 * tests.
 */
export function publicFetch(allow: (address: string) => boolean = isPublicAddress): PublicFetch {
  const guard = { allow, refuse: (host: string) => refused(`${host} is not on the public internet`) };
  return async (start, { maxBytes, signal, accept = '*/*' }) => {
    const headers = { accept, 'accept-encoding': 'identity', 'user-agent': 'contextrelay' };
    let url = checkedUrl(start);
    for (let hop = 0; hop <= FETCH_REDIRECTS; hop++) {
      const response = await guardedRequest(url, guard, { headers, signal });
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if ([301, 302, 303, 307, 308].includes(status) && location !== undefined) {
        response.destroy();
        url = checkedUrl(location, url);
        continue;
      }
      const body = await readBody(response, maxBytes, signal);
      return { status, url: url.href, contentType: response.headers['content-type'] ?? '', body };
    }
    throw refused(`it redirects more than ${FETCH_REDIRECTS} times`);
  };
}

function checkedUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base)) throw refused('it is not a URL');
  const url = new URL(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refused(`${url.protocol} is neither http: nor https:`);
  if (url.username !== '' || url.password !== '') throw refused('it contains a user name or password');
  return url;
}

async function readBody(
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > maxBytes) {
      response.destroy();
      throw refused(`it is larger than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
    signal.throwIfAborted();
  }
  return new Uint8Array(Buffer.concat(chunks));
}

function refused(what: string): RelayError {
  return new RelayError('capability_failed', { capability: 'http.fetch', what });
}

/** Posts to webhooks on the public internet. With `loopback`, webhooks on this machine are allowed too. */
export function webhookPost(o: { readonly loopback: boolean }): WebhookPost {
  const guard: AddressGuard = {
    allow: (address) => isPublicAddress(address) || (o.loopback && isLoopback(address)),
    refuse: (host) => new Error(`${host.replace(/^\[|\]$/g, '')} is not an address of the public internet`),
  };
  return {
    check: (text) => checkHost(webhookUrl(text), guard).catch(ignoreUnknownHost),
    post: async (text, { headers, body }) => {
      const url = webhookUrl(text);
      const signal = AbortSignal.timeout(WEBHOOK_TIME_MS);
      const answer = await guardedRequest(url, guard, { method: 'POST', headers, body, signal });
      answer.resume();
      const { statusCode = 0 } = answer;
      if (statusCode < 200 || statusCode > 299)
        throw new Error(`The webhook at ${url.host} answered ${statusCode}.`);
    },
  };
}

/** Ignores an unknown host name: the host may exist later, and each post checks the name again. */
function ignoreUnknownHost(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOTFOUND' && error.code !== 'EAI_AGAIN') throw error;
}

function webhookUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('it is not an http:// or https:// address');
  if (url.username || url.password) throw new Error('it contains a user name');
  return url;
}

/** Decides which addresses may be contacted, and creates the error for all others. */
interface AddressGuard {
  allow(address: string): boolean;
  refuse(host: string): Error;
}

/**
 * Sends a request and returns the answer, without following redirects. Connects to the address that was checked: a
 * second DNS lookup could return another address.
 */
async function guardedRequest(
  url: URL,
  guard: AddressGuard,
  { body, ...options }: Pick<RequestOptions, 'method' | 'headers' | 'signal'> & { readonly body?: string },
): Promise<IncomingMessage> {
  checkLiteral(url, guard);
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { ...options, agent: false, lookup: guardedLookup(guard) }, resolve);
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Throws if a request to this host is forbidden. */
async function checkHost(url: URL, guard: AddressGuard): Promise<void> {
  if (checkLiteral(url, guard)) return;
  await new Promise<void>((resolve, reject) => {
    guardedLookup(guard)(url.hostname, {}, (error) => (error ? reject(error) : resolve()));
  });
}

/** Checks a host that is an IP address, which the lookup function never sees. Returns false for a name. */
function checkLiteral(url: URL, guard: AddressGuard): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) return false;
  if (!guard.allow(host)) throw guard.refuse(url.hostname);
  return true;
}

/**
 * Returns a DNS lookup that allows only names whose addresses are all allowed, because a connection may use
 * any of them.
 */
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
