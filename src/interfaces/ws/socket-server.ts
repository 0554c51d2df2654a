import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { badRequest, isRelayError, RelayError, retrySeconds, toRelayError } from '../../base/errors.ts';
import { INBOUND_FRAME_BYTES, PING_EVERY_MS, SLOW_READER_BYTES } from '../../base/limits.ts';
import { authorize } from '../../contract/authorize.ts';
import type { Caller } from '../../contract/caller.ts';
import { channels } from '../../contract/channels.ts';
import type { Start } from '../../domain/channels/reader.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { Confirmations } from './confirmations.ts';
import { FanOut } from './fan-out.ts';
import {
  errorFrame,
  GOING_AWAY,
  messageFrame,
  parseTarget,
  REFUSED,
  type Target,
  TEXT,
  TOO_SLOW,
} from './protocol.ts';
import { answerPing, RelaySocket, receive } from './relay-socket.ts';

/** What the app passes to the WebSocket interface. */
interface SocketDeps {
  readonly core: RelayCore;
  /** Base URL of pointers. Null to use the address to which the client connected. */
  readonly publicUrl: string | null;
  /** Throws if the request comes from a foreign web page. */
  guard(request: IncomingMessage): void;
  /** Returns the caller for an `Authorization` header. Throws `unauthorized` for an invalid API key. */
  authenticate(authorization: string | null): Caller | Promise<Caller>;
  /** Throws `rate_limited` after too many requests of the caller or, without a caller, of the address. */
  limit(caller: Caller | null, request: IncomingMessage): Promise<void>;
  log(event: {
    readonly level: 'warn' | 'error';
    readonly event: string;
    readonly [field: string]: unknown;
  }): void;
  readonly limits?: Partial<SocketLimits>;
  /** Returns whether the package on disk was replaced since the server started. */
  replaced?(): boolean;
}

export interface SocketLimits {
  readonly pingEveryMs: number;
  /** Maximum number of bytes that may wait for a slow client. */
  readonly slowReaderBytes: number;
}

/** Maximum time in ms that sockets have to close when the server stops. */
const CLOSE_TIMEOUT_MS = 1000;
/** Number of pings after which the event loop gets time for other work. */
const PINGS_AT_ONCE = 256;

/** WebSocket server for channels, for Node only. The HTTP server passes it upgrade requests. */
export class SocketServer {
  readonly #deps: SocketDeps;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: INBOUND_FRAME_BYTES,
    WebSocket: RelaySocket,
  });
  readonly #fanOuts = new Map<string, FanOut>();
  readonly #confirmations: Confirmations;
  readonly #sockets = new Set<RelaySocket>();
  readonly #limits: SocketLimits;
  readonly #pinging: NodeJS.Timeout;
  #stopping = false;

  constructor(deps: SocketDeps) {
    this.#deps = deps;
    this.#confirmations = new Confirmations(deps.core.receipts);
    this.#limits = { pingEveryMs: PING_EVERY_MS, slowReaderBytes: SLOW_READER_BYTES, ...deps.limits };
    this.#pinging = setInterval(() => void this.#pingAll(), this.#limits.pingEveryMs).unref();
  }

  /** Handles the `upgrade` event of an HTTP server. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Without a listener for `error`, a broken connection would crash the process.
    socket.on('error', () => socket.destroy());
    this.#open(request, socket, head).catch((error) => {
      if (!isRelayError(error)) this.#log('upgrade-failed', error);
      rejectUpgrade(socket, toRelayError(error, this.#deps.replaced));
    });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#pinging);
    this.#confirmations.stop();
    const sockets = [...this.#sockets];
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    for (const socket of sockets) socket.close(GOING_AWAY, 'the relay is stopping: reconnect');
    const late = setTimeout(() => sockets.forEach((socket) => void socket.terminate()), CLOSE_TIMEOUT_MS);
    await Promise.all(closed);
    clearTimeout(late);
    for (const fanOut of this.#fanOuts.values()) fanOut.stop();
  }

  async #open(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { core, publicUrl } = this.#deps;
    const origin = originOf(request);
    this.#deps.guard(request);
    const target = parseTarget(request.url ?? '/');
    if (!target) throw new RelayError('no_route', { method: 'GET', path: (request.url ?? '').slice(0, 200) });
    if (this.#stopping) throw new RelayError('busy', { what: 'the relay is stopping' });
    const authenticated = await this.#caller(request, target).catch(async (error) => {
      // Count failed authentications by address in the rate limiter, so that nobody can guess API keys and
      // tickets quickly.
      if (isRelayError(error, 'unauthorized')) await this.#deps.limit(null, request);
      throw error;
    });
    await this.#deps.limit(authenticated, request);
    const caller = core.actingAs(authenticated, target.agent);
    const { channel, group } = target;
    authorize(caller, channels.subscribe, { name: channel });
    // Find the position first, so that the socket gets every message that is sent after it has opened.
    const isPattern = await core.channels.isPattern(caller, channel, target);
    const single = group === undefined && !isPattern;
    const start = single ? await core.channels.start(caller.tenant, channel, target.since) : null;
    const since = target.since ?? (isPattern ? core.deps.env.now() : undefined);
    if (socket.destroyed) return;
    this.#server.handleUpgrade(request, socket, head, (accepted: RelaySocket) => {
      accepted.caller = caller;
      accepted.base = publicUrl ?? origin;
      accepted.channel = channel;
      accepted.group = group ?? null;
      accepted.resumes = target.since !== undefined;
      this.#accept(accepted, { ...target, since }, start);
    });
  }

  #accept(socket: RelaySocket, target: Target, start: Start | null): void {
    this.#sockets.add(socket);
    const { watch } = this.#deps.core.keys;
    const unwatch = watch.watch(socket.caller, () => socket.close(REFUSED, 'the key no longer works'));
    // Ignore protocol errors, such as oversized frames: `ws` closes the socket with the right code.
    socket.on('error', ignore);
    socket.on('message', (data: Buffer, binary) => {
      socket.alive = true;
      receive(socket, data, binary);
    });
    socket.on('ping', (data) => answerPing(socket, data));
    socket.on('pong', (data) => {
      socket.alive = true;
      this.#confirmations.answered(socket, data);
    });
    socket.on('close', () => {
      unwatch();
      this.#sockets.delete(socket);
      this.#confirmations.forget(socket);
      socket.source?.leave(socket);
    });
    const serving = start === null ? this.#serveMember(socket, target) : this.#serveReader(socket, start);
    serving.catch((error) => {
      if (!isRelayError(error)) this.#log('socket-failed', error);
      if (socket.readyState !== socket.OPEN) return;
      socket.send(errorFrame(toRelayError(error, this.#deps.replaced), {}), TEXT);
      const refused = isRelayError(error) && error.status < 500;
      socket.close(refused ? REFUSED : 1011, refused ? 'refused' : 'try again later');
    });
  }

  /** Pings all sockets. Terminates sockets that have sent nothing since the last ping. */
  async #pingAll(): Promise<void> {
    let pinged = 0;
    for (const socket of this.#sockets) {
      if (socket.alive) this.#confirmations.ping(socket);
      else socket.terminate();
      socket.alive = false;
      if (++pinged % PINGS_AT_ONCE === 0) await setImmediate();
    }
  }

  async #serveReader(socket: RelaySocket, start: Start): Promise<void> {
    const { channel } = socket;
    const { tenant } = socket.caller;
    const key = `${tenant}\n${channel}`;
    let fanOut = this.#fanOuts.get(key);
    if (!fanOut) {
      const { channels } = this.#deps.core;
      const { slowReaderBytes } = this.#limits;
      const confirmations = this.#confirmations;
      const onStop = () => this.#fanOuts.delete(key);
      fanOut = new FanOut({ channels, tenant, channel, confirmations, slowReaderBytes, onStop });
      this.#fanOuts.set(key, fanOut);
    }
    socket.source = fanOut;
    await fanOut.join(socket, start);
  }

  async #serveMember(socket: RelaySocket, { since, group, prefetch }: Target): Promise<void> {
    const closed = new AbortController();
    socket.once('close', () => closed.abort());
    const o = { since, group, prefetch, signal: closed.signal };
    socket.relay = this.#deps.core.relay(socket.caller, socket.base);
    for await (const message of socket.relay.channels.subscribe(socket.channel, o)) {
      if (socket.readyState !== socket.OPEN) return;
      if (socket.bufferedAmount > this.#limits.slowReaderBytes) {
        socket.close(TOO_SLOW, 'too slow: reconnect');
        return;
      }
      socket.send(messageFrame(message), TEXT);
      const pointer = message.url?.slice(message.url.lastIndexOf('/') + 1);
      if (pointer !== undefined) this.#confirmations.sent(socket, pointer);
    }
  }

  async #caller({ headers }: IncomingMessage, { ticket }: Target): Promise<Caller> {
    if (ticket === undefined) return this.#deps.authenticate(headers.authorization ?? null);
    const { channels, keys } = this.#deps.core;
    const caller = await channels.redeem(ticket);
    if (!caller || !(await keys.isValid(caller)))
      throw new RelayError('unauthorized', {
        message: 'The ticket is invalid, has expired or was already used.',
        hint: 'A ticket works once, within 30 seconds. Request another one with POST /ws-ticket.',
      });
    return caller;
  }

  #log(event: string, error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#deps.log({ level: 'error', event, error: text });
  }
}

function ignore(): void {}

function originOf({ headers, socket }: IncomingMessage): string {
  const secure = 'encrypted' in socket && socket.encrypted === true;
  const url = URL.parse(`${secure ? 'https' : 'http'}://${headers.host ?? ''}`);
  if (!url) throw badRequest('The Host header is not a valid host.');
  return url.origin;
}

/** Answers a rejected upgrade with the error as JSON, as HTTP routes do. */
function rejectUpgrade(socket: Duplex, error: RelayError): void {
  const body = JSON.stringify(error);
  const seconds = retrySeconds(error);
  const head = [
    `HTTP/1.1 ${error.status} Refused`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    ...(seconds === null ? [] : [`Retry-After: ${seconds}`]),
    ...(error.code === 'unauthorized' ? ['WWW-Authenticate: Bearer realm="relay"'] : []),
  ];
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
