import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fake of the original ContextRelay server. */
export interface OriginalServer extends AsyncDisposable {
  readonly url: string;
  /** All requests: the path, and as `key` the Authorization header. */
  readonly requests: { readonly path: string; readonly key: string | undefined }[];
  /** Stores an envelope and returns the path of its pointer. */
  put(data: string, metadata?: object): string;
}

/**
 * Starts a server that answers like the original ContextRelay Worker of 2026. A pull returns the envelope as
 * `text/plain`, a peek the metadata as `application/json`, an error plain text. There are no `Relay-*` headers, parts or
 * costs. For tests, `/elsewhere/<name>` returns an envelope and `/page` a web page.
 */
export async function startOriginal(): Promise<OriginalServer> {
  const stored = new Map<string, string>();
  const requests: { path: string; key: string | undefined }[] = [];
  const answer = (response: ServerResponse, status: number, type: string, body: string) =>
    response.writeHead(status, { 'Content-Type': type }).end(body);
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url!, 'http://any');
    requests.push({ path: pathname, key: request.headers.authorization });
    if (pathname === '/page') return answer(response, 200, 'text/html', '<h1>Sign in</h1>');
    const [, kind = '', id = ''] = pathname.split('/');
    const text = stored.get(id);
    if (!['pull', 'peek', 'elsewhere'].includes(kind))
      return answer(response, 404, 'text/plain', 'Not found');
    if (text === undefined) return answer(response, 404, 'text/plain', 'Context not found or expired');
    if (kind === 'peek')
      return answer(response, 200, 'application/json', JSON.stringify(JSON.parse(text).metadata));
    return answer(response, 200, 'text/plain', text);
  };
  const server = createServer(handle).listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    put(data, metadata = {}) {
      const id = crypto.randomUUID();
      stored.set(id, JSON.stringify({ data, metadata }));
      return `/pull/${id}`;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
