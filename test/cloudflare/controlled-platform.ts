import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Chance, CONTROL_PATH, type ObjectCall, pack, STEP_HEADER, type Step, unpack } from './step.ts';

export type Platform = Awaited<ReturnType<typeof startControlledPlatform>>;

/**
 * Starts a proxy between clients and a Worker. It forwards requests and adds a header with the test's time and random
 * bytes. With `evicts` it evicts all objects before each request, unless another request is running.
 */
export async function startControlledPlatform(
  worker: string,
  o: { readonly evicts: boolean; step(): Step; chance?(): Chance },
) {
  const { hostname, port } = new URL(worker);
  /** Work that must finish before the next request is forwarded. */
  let pending: Promise<unknown> = Promise.resolve();
  let underWay = 0;
  const sockets = new Set<Duplex>();

  const control = async (
    what: 'evict' | 'settle' | 'stall' | 'goOn' | 'ring' | 'tidy' | 'call',
    calls?: readonly ObjectCall[],
  ) => {
    // workerd closes a connection after five idle seconds without notice, so do not reuse connections.
    const answer = await fetch(worker + CONTROL_PATH + what, {
      method: 'POST',
      headers: { [STEP_HEADER]: JSON.stringify(o.step()), connection: 'close' },
      body: pack(calls),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${what}: ${answer.status} ${text}`);
    return unpack(text);
  };
  /** Evicts the objects if no request is running. Requests wait until pending work is done. */
  const before = (): Promise<unknown> => {
    if (o.evicts && underWay === 0) pending = pending.then(() => control('evict'));
    underWay++;
    return pending;
  };
  const headersOf = (asked: IncomingMessage) => [
    ...asked.rawHeaders,
    STEP_HEADER,
    JSON.stringify({ ...o.step(), chance: o.chance?.() }),
  ];

  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, async (asked, answer) => {
    await before();
    answer.once('close', () => underWay--);
    const { method, url: path } = asked;
    pass(
      asked,
      answer,
      request({ hostname, port, method, path, headers: headersOf(asked), setHost: false, agent: false }),
    );
  });
  server.on('upgrade', async (asked: IncomingMessage, client: Socket, head: Buffer) => {
    sockets.add(client);
    client.on('error', () => {});
    await before();
    underWay--;
    const out = connect(Number(port), hostname);
    out.on('error', () => client.destroy());
    client.once('close', () => out.destroy());
    out.once('close', () => client.destroy());
    const lines = pairs(headersOf(asked)).map(([name, value]) => `${name}: ${value}\r\n`);
    out.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
    out.write(head);
    client.pipe(out).pipe(client);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    control,
    /** Call it after moving the clock. Due alarms run before the next request. */
    moved: () => {
      pending = pending.then(() => control('ring'));
    },
    async stop() {
      await pending.catch(() => {});
      if (server.listening) server.close();
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function pass(asked: IncomingMessage, answer: ServerResponse, out: ClientRequest): void {
  answer.sendDate = false;
  asked.pipe(out);
  out.on('response', (from) => {
    answer.writeHead(from.statusCode!, from.statusMessage!, from.rawHeaders);
    answer.flushHeaders();
    from.pipe(answer);
    from.once('close', () => from.complete || answer.destroy());
  });
  out.on('error', () => answer.destroy());
  // Cloudflare notices a disconnected client at once. workerd notices it only on its next write or a connection reset.
  answer.once('close', () => (answer.writableFinished ? out.destroy() : out.socket?.resetAndDestroy()));
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, flat[i + 1]!]] : []));
}
