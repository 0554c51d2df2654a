import { lookup } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from '../../base/address.ts';
import { RelayError } from '../../base/errors.ts';
import { FETCH_REDIRECTS } from '../../base/limits.ts';
import type { FetchedPage, PublicFetch } from '../../domain/threads/capabilities/http-fetch.ts';

/**
 * Fetches from the public internet and from nowhere else. A name is looked up once for each hop and the connection is
 * made to the very address that was checked, so that an answer cannot change in between. `allow` is for tests.
 */
export function publicFetch(allow: (address: string) => boolean = isPublicAddress): PublicFetch {
  return async (start, { maxBytes, signal, accept }) => {
    let url = checkedUrl(start);
    for (let hop = 0; hop <= FETCH_REDIRECTS; hop++) {
      const response = await request(url, { allow, signal, accept });
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if ([301, 302, 303, 307, 308].includes(status) && location !== undefined) {
        response.destroy();
        url = checkedUrl(location, url);
        continue;
      }
      const body = await readBody(response, maxBytes, signal);
      return {
        status,
        url: url.href,
        contentType: response.headers['content-type'] ?? '',
        body,
      } satisfies FetchedPage;
    }
    throw refused(`it redirects more than ${FETCH_REDIRECTS} times`);
  };
}

function checkedUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base)) throw refused('it is not a URL');
  const url = new URL(text, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw refused(`${url.protocol} is neither http: nor https:`);
  if (url.username !== '' || url.password !== '') throw refused('it has a user name or password in it');
  return url;
}

async function request(
  url: URL,
  o: { allow: (address: string) => boolean; signal: AbortSignal; accept: string | undefined },
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // A literal address is never looked up, so it is checked here.
  if (isIP(host) !== 0 && !o.allow(host)) throw notPublic(url.hostname);
  const node = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const outgoing = node.request(
      url,
      {
        agent: false,
        lookup: checkedLookup(o.allow),
        signal: o.signal,
        headers: {
          accept: o.accept ?? '*/*',
          'accept-encoding': 'identity',
          'user-agent': 'contextrelay',
        },
      },
      resolve,
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** Every address of the name must be allowed: one that is not could be the one that is taken. */
function checkedLookup(allow: (address: string) => boolean): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { all: true }).then(
      (found) => {
        const bad = found.find(({ address }) => !allow(address));
        const [first] = found;
        if (bad || !first) done(notPublic(hostname) as unknown as NodeJS.ErrnoException, '', 0);
        else if (options.all) (done as unknown as (error: null, all: typeof found) => void)(null, found);
        else done(null, first.address, first.family);
      },
      (error) => done(error, '', 0),
    );
  };
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

function notPublic(host: string): RelayError {
  return refused(`${host} is not on the public internet`);
}

function refused(what: string): RelayError {
  return new RelayError('capability_failed', { capability: 'http.fetch', what });
}
