import { type RawData, WebSocket } from 'ws';
import type { ServerOptions } from '../../src/app/serve/serve.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Relay } from '../../src/contract/relay.ts';
import type { ChannelSettings } from '../../src/domain/channels/settings.ts';
import type { LogEvent } from '../../src/interfaces/http/deps.ts';
import type { SocketLimits } from '../../src/interfaces/ws/socket-server.ts';
import { serve, type Wire } from '../http/relay-under-test.ts';
import { type CoreUnderTest, openTestCore } from './core.ts';

export interface ServerUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly ws: string;
  readonly core: CoreUnderTest;
  /** The relay API without HTTP. Its URLs contain the server's address. */
  readonly relay: Relay;
  readonly log: LogEvent[];
  post(
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; json: Wire }>;
  get(path: string): Promise<{ status: number; json: Wire }>;
  stop(): Promise<void>;
}

/** A real server on a real port with its own `RelayCore`. */
export async function startTestServer(
  o: {
    channels?: Partial<ChannelSettings>;
    sockets?: Partial<SocketLimits>;
    timeouts?: ServerOptions['timeouts'];
    core?: CoreUnderTest;
    port?: number;
  } = {},
): Promise<ServerUnderTest> {
  const core = o.core ?? openTestCore(o.channels);
  const server = await serve(core.core, { port: o.port ?? 0, sockets: o.sockets, timeouts: o.timeouts });
  const answer = async (response: Response) => {
    const text = await response.text();
    return { status: response.status, json: text === '' ? null : JSON.parse(text) };
  };
  return {
    url: server.url,
    ws: server.url.replace('http', 'ws'),
    core,
    relay: core.core.relay(LOCAL_CALLER, server.url),
    log: server.log,
    post: async (path, body, headers = {}) =>
      answer(
        await fetch(server.url + path, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', ...headers },
          body: JSON.stringify(body),
        }),
      ),
    get: async (path) => answer(await fetch(server.url + path)),
    stop: server.stop,
    async [Symbol.asyncDispose]() {
      await server.stop();
      if (!o.core) await core[Symbol.asyncDispose]();
    },
  };
}

/** A WebSocket client that records every frame. */
export interface Socket extends AsyncDisposable {
  readonly socket: WebSocket;
  readonly frames: Wire[];
  /** Waits for this many frames after the ones that earlier calls returned, and returns them. */
  take(count: number): Promise<Wire[]>;
  send(frame: unknown): void;
  readonly closed: Promise<{ code: number; reason: string }>;
}

export async function connect(url: string, o: { headers?: Record<string, string> } = {}): Promise<Socket> {
  const socket = new WebSocket(url, { headers: o.headers });
  const frames: Wire[] = [];
  let frameOffset = 0;
  let wake = () => {};
  socket.on('message', (data: RawData) => {
    frames.push(JSON.parse(String(data)));
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => {
      resolve({ code, reason: String(reason) });
      wake();
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve());
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  return {
    socket,
    frames,
    async take(count) {
      while (frames.length < frameOffset + count) {
        if (socket.readyState === WebSocket.CLOSED) throw new Error(`closed after ${frames.length} frames`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      frameOffset += count;
      return frames.slice(frameOffset - count, frameOffset);
    },
    send: (frame) => socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    closed,
    async [Symbol.asyncDispose]() {
      if (socket.readyState === WebSocket.CLOSED) return;
      socket.close();
      socket.resume();
      await closed;
    },
  };
}

/** Returns the HTTP answer to a rejected upgrade. */
export async function refusal(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; json: Wire }> {
  const socket = new WebSocket(url, { headers });
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      socket.terminate();
      reject(new Error('it was accepted'));
    });
    socket.on('error', () => {});
    socket.once('unexpected-response', (_, response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) }));
    });
  });
}
