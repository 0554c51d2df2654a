import type { IncomingMessage } from 'node:http';
import { RelayError } from '../../base/errors.ts';
import { FETCH_REDIRECTS } from '../../base/limits.ts';
import type { PublicFetch } from '../../domain/threads/capabilities/http-fetch.ts';
import { isPublicAddress } from './addresses.ts';
import { guardedRequest } from './guarded-request.ts';

/** Fetches from the public internet and from nowhere else; every hop is checked. `allow` is for tests. */
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
  if (url.username !== '' || url.password !== '') throw refused('it has a user name or password in it');
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
