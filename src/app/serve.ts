import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { RelayError } from '../base/errors.ts';
import { LOCAL_CALLER } from '../domain/caller.ts';
import type { House } from '../domain/house.ts';
import { createHttpApp } from '../interfaces/http/app.ts';
import { browserGuard } from '../interfaces/http/browser-guard.ts';
import type { HttpDeps, LogEvent } from '../interfaces/http/deps.ts';
import { jsonResponse } from '../interfaces/http/responses.ts';
import type { McpHttpOptions } from '../interfaces/mcp/http.ts';
import type { SocketLimits } from '../interfaces/ws/deps.ts';
import { SocketServer } from '../interfaces/ws/socket-server.ts';
import { a2aMount } from './a2a-mount.ts';
import { mcpMount } from './mcp-mount.ts';
import { withMounts } from './mount.ts';

/** Metadata may come in a header, and 16 KiB of it make 22 KiB of base64. */
const MAX_HEADER_BYTES = 64 * 1024;
/** A slow sender gets this long for its headers, and this long for a whole request of 25 MB over a poor line. */
const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than clients keep an idle connection, so that it is they who close it and no request falls into the gap. */
const KEEP_ALIVE_MS = 65_000;
/** How long running requests may take to finish once the server was told to stop. */
const STOP_GRACE_MS = 10_000;
const TIDY_EVERY_MS = 60_000;

export interface ServerOptions {
  readonly house: House;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly version: string;
  readonly publicUrl: string | null;
  readonly allowedHosts: readonly string[];
  readonly sockets?: Partial<SocketLimits>;
  /** Tests put the fixtures of the official MCP conformance suite in here. */
  readonly extendMcp?: McpHttpOptions['extend'];
  /** A2A webhooks may be in our own network; refused unless told. */
  readonly privateWebhooks?: boolean;
  log(event: LogEvent): void;
}

export interface RunningServer {
  /** `http://127.0.0.1:7474`, with the port that was really taken. */
  readonly url: string;
  /** Takes no new requests, answers those it has, then resolves. */
  stop(): Promise<void>;
}

/** Listens and serves. The house is the caller's to close, after the server has stopped. */
export async function startServer(o: ServerOptions): Promise<RunningServer> {
  const { house, publicUrl, log } = o;
  const authenticate = () => LOCAL_CALLER;
  const stopping = new AbortController();
  const deps: HttpDeps = {
    house,
    version: o.version,
    publicUrl,
    allowedHosts: o.allowedHosts,
    authenticate,
    stopping: stopping.signal,
    log,
  };
  const app = withMounts(createHttpApp(deps), deps, [
    mcpMount({ ...o, stopping: stopping.signal }),
    a2aMount({ ...o, keys: false, privateWebhooks: o.privateWebhooks ?? false, stopping: stopping.signal }),
  ]);
  const guard = browserGuard(o);
  const sockets = new SocketServer({ house, publicUrl, guard, authenticate, log, limits: o.sockets });
  const listener = getRequestListener(app.fetch, { hostname: o.host, errorHandler: malformed });
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    listener,
  );
  server.on('upgrade', (request, socket, head) => sockets.upgrade(request, socket, head));
  await listen(server, o.host, o.port);
  const tidying = setInterval(() => {
    house.tidy().catch((error) => log({ level: 'warn', event: 'tidy-failed', error: String(error) }));
  }, TIDY_EVERY_MS).unref();
  let stopped: Promise<unknown> | null = null;
  return {
    url: urlOf(server, o.host),
    stop: async () => {
      clearInterval(tidying);
      stopping.abort();
      stopped ??= Promise.all([sockets.stop(), close(server)]);
      await stopped;
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const force = setTimeout(() => server.closeAllConnections(), STOP_GRACE_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(force);
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  const name =
    host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** A request that the adapter could not even make sense of: no Host, a broken target. */
function malformed(error: unknown): Response {
  const refused = new RelayError('bad_request', {
    what: `The request cannot be understood: ${(error as Error).message}.`,
  });
  return jsonResponse(refused, { status: refused.status, headers: { Connection: 'close' } });
}
