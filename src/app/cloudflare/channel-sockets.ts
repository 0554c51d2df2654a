import type { DurableObjectState, WebSocket as PlatformSocket } from '@cloudflare/workers-types';
import { toRelayError } from '../../base/errors.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { INBOUND_FRAME_BYTES, KEY_CHECK_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Since } from '../../contract/channels.ts';
import type { Member } from '../../domain/channels/group-rounds.ts';
import { toMessage } from '../../domain/channels/message.ts';
import type { Start } from '../../domain/channels/reader.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { frameSubject, GOING_AWAY, REFUSED, settle } from '../../interfaces/ws/protocol.ts';
import type { Entry, Logs } from '../../kernel/logs.ts';

/**
 * Maximum number of characters that are sent in one turn of the event loop, and in one page of entries. The
 * platform does not report how much data a socket still has to send. Short turns let sent data leave before more
 * is read, so the memory stays bounded.
 */
const TURN_CHARS = 1024 * 1024;
const PAGE_ENTRIES = 100;
/**
 * Time in ms after which an alarm resumes serving. The alarm is needed if the object fails or is evicted
 * while readers are behind.
 */
const RESUME_ALARM_MS = 30_000;
const OPEN = 1;
const TOO_BIG = 1009;
const CHANNEL_PREFIX = 'chn.';
const GROUP_PREFIX = 'grp.';
const PING = '{"ping":1}';
const PONG = '{"pong":1}';

/** State of a socket. The platform stores it while the object hibernates. */
export interface SocketState extends Start {
  readonly id: string;
  readonly stream: string;
  readonly caller: Caller;
  readonly base: string;
  readonly channel: string;
  /** Name of the group, or null for a plain reader. */
  readonly group: string | null;
  readonly since?: string | number;
  readonly prefetch?: number;
  /** True if the client asked to resume. Only such a client understands frames about a gap. */
  readonly resumes: boolean;
}

export interface SocketsOptions {
  readonly state: DurableObjectState;
  readonly core: RelayCore;
  /** Sets an alarm, which calls `serveAll`. */
  wakeAt(due: number | null): void;
}

/**
 * The WebSockets of a tenant's channels. The platform holds them while the object hibernates. An entry, a frame, a new
 * socket or an alarm wakes the object. The position of each reader is stored with its socket. Readers of a channel
 * take turns, so a reader that is far behind does not delay the others.
 */
export class ChannelSockets {
  readonly #platform: DurableObjectState;
  readonly #core: RelayCore;
  readonly #wakeAt: SocketsOptions['wakeAt'];
  /** Channels that are being served. The value is true if messages arrived since the last round. */
  readonly #hasNews = new Map<string, boolean>();
  /** Ids of the API keys that were found valid since the time `since`, in ms. */
  #keys = { since: 0, working: new Set<string>() };
  #serving: Promise<void> = Promise.resolve();

  constructor({ state, core, wakeAt }: SocketsOptions) {
    this.#platform = state;
    this.#core = core;
    this.#wakeAt = wakeAt;
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  }

  /** Accepts a socket of an authorized request. */
  async accept(state: SocketState): Promise<Response> {
    const { caller, channel, group, since } = state;
    if (group !== null) await this.#core.channels.groups.begin(caller, channel, group, since);
    const { 0: client, 1: server } = new WebSocketPair();
    this.#platform.acceptWebSocket(server, [tagOf(state.stream)]);
    setSocketState(server, state);
    this.#appended(state.stream);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }

  /**
   * Accepts a subscription with wildcards. Its position is in memory, so the object stays awake while such a socket is
   * open.
   */
  acceptPattern(caller: Caller, pattern: string, since: Since | undefined, base: string): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    const closed = new AbortController();
    server.accept();
    server.addEventListener('close', () => closed.abort());
    const o = { since: since ?? this.#core.deps.env.now(), signal: closed.signal };
    const messages = this.#core.relay(caller, base).channels.subscribe(pattern, o);
    const unwatch = this.#core.keys.watch.watch(caller, () =>
      server.close(REFUSED, 'the key no longer works'),
    );
    const serve = async () => {
      try {
        for await (const message of messages) server.send(JSON.stringify(message));
        server.close(GOING_AWAY, 'reconnect');
      } catch (error) {
        server.send(JSON.stringify(toRelayError(error)));
        server.close(REFUSED, 'refused');
      } finally {
        unwatch();
      }
    };
    // Sending fails if the client has closed the socket. Ignore the error, because nobody waits for the messages any
    // more.
    serve().catch(() => {});
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }

  /** Executes a frame of a client. */
  async message(socket: PlatformSocket, data: string | ArrayBuffer): Promise<void> {
    const size = typeof data === 'string' ? data.length : data.byteLength;
    if (size > INBOUND_FRAME_BYTES) return socket.close(TOO_BIG, 'a frame may have at most 4 KiB');
    const frame = typeof data === 'string' ? jsonObjectIn(data) : null;
    if (frame && 'ping' in frame) return socket.send(PONG);
    if ((await this.#withValidKey([socket])).length === 0) return;
    const { caller, base, channel, group } = socketState(socket);
    const relay = group === null ? null : this.#core.relay(caller, base);
    try {
      socket.send(JSON.stringify(await settle({ relay, channel, group }, frame)));
    } catch (error) {
      socket.send(JSON.stringify({ ...toRelayError(error).toJSON(), ...frameSubject(frame) }));
    }
  }

  /** Serves the sockets of the channels and groups among these streams. */
  committed(streams: ReadonlySet<string>): void {
    for (const stream of streams) this.#appended(stream);
  }

  /**
   * Serves readers that were behind when the object was evicted, and group members, whose leases may have ended. An
   * alarm calls it.
   */
  async serveAll(): Promise<void> {
    const sockets = this.#platform.getWebSockets();
    const read = new Set(
      sockets.filter((socket) => !isMember(socket)).map((socket) => socketState(socket).stream),
    );
    for (const channel of read) this.#serveReaders(channel);
    await this.#serveMembers(sockets.filter(isMember));
  }

  #appended(stream: string): void {
    const isGroup = stream.startsWith(GROUP_PREFIX);
    if (!isGroup && !stream.startsWith(CHANNEL_PREFIX)) return;
    const channel = isGroup
      ? CHANNEL_PREFIX + stream.slice(GROUP_PREFIX.length, stream.lastIndexOf('.'))
      : stream;
    const sockets = this.#socketsOf(channel);
    const members = sockets.filter(isMember);
    // Start each run after the previous one, otherwise two runs could deliver the same message.
    if (members.length > 0)
      this.#serving = this.#serving.then(() => this.#serveMembers(members)).catch(report);
    if (!isGroup && members.length < sockets.length) this.#serveReaders(channel);
  }

  #socketsOf(channel: string): PlatformSocket[] {
    return this.#platform
      .getWebSockets(tagOf(channel))
      .filter((socket) => socketState(socket).stream === channel);
  }

  /** Serves the readers of a channel until all are up to date. */
  #serveReaders(stream: string): void {
    const isServed = this.#hasNews.has(stream);
    this.#hasNews.set(stream, true);
    if (isServed) return;
    void this.#serveNews(stream);
  }

  async #serveNews(stream: string): Promise<void> {
    try {
      await this.#serveRounds(stream);
    } catch (error) {
      this.#wakeAt(Date.now() + RESUME_ALARM_MS);
      report(error);
    }
    this.#hasNews.delete(stream);
  }

  async #serveRounds(stream: string): Promise<void> {
    let sent = 0;
    let behind: PlatformSocket[] = [];
    while (this.#hasNews.get(stream) || behind.length > 0) {
      if (this.#hasNews.get(stream)) behind = this.#socketsOf(stream).filter((socket) => !isMember(socket));
      this.#hasNews.set(stream, false);
      const readers = await this.#withValidKey(behind);
      // Sort by position, so readers at the same position share one page.
      readers.sort((a, b) => socketState(a).after - socketState(b).after);
      const round = new ReadingRound((after) =>
        this.#core.deps.engine.logs.read(stream, { after, limit: PAGE_ENTRIES, maxBytes: TURN_CHARS }),
      );
      behind = [];
      for (const socket of readers) {
        if (sent >= TURN_CHARS) {
          this.#wakeAt(Date.now() + RESUME_ALARM_MS);
          await pause(0);
          sent = 0;
        }
        const chars = this.#sendPage(socket, await round.pageAfter(socketState(socket).after), round);
        sent += chars;
        if (chars > 0) behind.push(socket);
      }
    }
  }

  /**
   * Sends a page of entries to a reader and returns the number of characters. Must not await, otherwise the position
   * stored with the socket could be wrong.
   */
  #sendPage(socket: PlatformSocket, { after, entries }: Page, round: ReadingRound): number {
    const state = socketState(socket);
    // Skip a socket that was closed after the round began.
    if (entries.length === 0 || socket.readyState !== OPEN) return 0;
    const view = this.#core.channels.view(state);
    let chars = 1;
    let last = after;
    for (const entry of entries) {
      const seen = view.see(entry);
      if (seen) {
        if (seen.gap && state.resumes)
          socket.send(JSON.stringify({ gap: true, after: last, next: seen.seq }));
        const frame = round.frame(seen, state.base);
        socket.send(frame);
        chars += frame.length;
      }
      last = entry.seq;
    }
    setSocketState(socket, { ...state, after: last, gap: view.owesGap, lenient: view.lenient });
    return chars;
  }

  /**
   * Returns the sockets whose API key is valid and closes the others. API keys are checked only when there
   * is something to send, all of them concurrently. A valid key is not checked again within `KEY_CHECK_MS`.
   */
  async #withValidKey(sockets: readonly PlatformSocket[]): Promise<PlatformSocket[]> {
    const now = Date.now();
    if (Math.abs(now - this.#keys.since) >= KEY_CHECK_MS) this.#keys = { since: now, working: new Set() };
    const { working } = this.#keys;
    const callers = new Map(
      sockets.map((socket) => [socketState(socket).caller.keyId, socketState(socket).caller]),
    );
    const check = async ([keyId, caller]: [string, Caller]) => {
      if (!working.has(keyId) && (await this.#core.keys.isValid(caller))) working.add(keyId);
    };
    await Promise.all(Array.from(callers, check));
    return sockets.filter((socket) => {
      const works = working.has(socketState(socket).caller.keyId);
      if (!works) socket.close(REFUSED, 'the key no longer works');
      return works;
    });
  }

  /** Delivers each group's messages to its connected members, which acknowledge them with frames or over HTTP. */
  async #serveMembers(members: readonly PlatformSocket[]): Promise<void> {
    const groups = Map.groupBy(await this.#withValidKey(members), (socket) =>
      JSON.stringify([socketState(socket).stream, socketState(socket).group]),
    );
    for (const sockets of groups.values()) {
      const { caller, channel, group } = socketState(sockets[0]!);
      const members = new Map(sockets.map((socket) => [socketState(socket).id, memberAt(socket)]));
      this.#wakeAt(await this.#core.channels.groups.rounds(caller, channel, group!).run(members));
    }
  }
}

/** Answers a close frame, because the platform does not answer it and the client would wait. */
export function answerClose(socket: PlatformSocket, code: number, reason: string): void {
  // 1005 and 1006 mean that the client sent no code. These codes must not be sent, so answer with 1000.
  const answer = code === 1005 || code === 1006 ? 1000 : code;
  try {
    socket.close(answer, reason);
  } catch {
    // The socket is already closed.
  }
}

interface Page {
  readonly after: number;
  readonly entries: readonly Entry[];
}

/**
 * Caches the current page of entries, so that it is read only once for all readers at the same position. A
 * message is serialized once per base URL, because its pointer contains the base URL.
 */
class ReadingRound {
  readonly #read: (after: number) => ReturnType<Logs['read']>;
  #page: Page | null = null;
  readonly #frames = new Map<string, string>();

  constructor(read: (after: number) => ReturnType<Logs['read']>) {
    this.#read = read;
  }

  /** Returns the page of entries after a position. Reads it if the cached page is at another position. */
  async pageAfter(after: number): Promise<Page> {
    if (this.#page?.after !== after) {
      const { entries } = await this.#read(after);
      this.#page = { after, entries };
      this.#frames.clear();
    }
    return this.#page;
  }

  /**
   * Serializes an entry of the current page. Leaves out the gap flag, because a gap is sent as its own
   * frame.
   */
  frame(entry: Entry, base: string): string {
    const key = `${entry.seq} ${base}`;
    let frame = this.#frames.get(key);
    if (frame === undefined) {
      const { gap: _, ...message } = toMessage(entry, base)!;
      frame = JSON.stringify(message);
      this.#frames.set(key, frame);
    }
    return frame;
  }
}

/** Cache of parsed socket states since the object woke up. Parsing them again would be slow. */
const stateCache = new WeakMap<PlatformSocket, SocketState>();

/** Returns the state of a socket. */
function socketState(socket: PlatformSocket): SocketState {
  const state =
    stateCache.get(socket) ?? (JSON.parse(socket.deserializeAttachment() as string) as SocketState);
  stateCache.set(socket, state);
  return state;
}

/** Stores the state of a socket. */
function setSocketState(socket: PlatformSocket, state: SocketState): void {
  stateCache.set(socket, state);
  socket.serializeAttachment(JSON.stringify(state));
}

/**
 * Returns the tag of a channel's sockets, a short hash of its name. Two channels may have the same tag, so
 * `#socketsOf` also compares the names.
 */
function tagOf(stream: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < stream.length; i++) hash = Math.imul(hash ^ stream.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}

const isMember = (socket: PlatformSocket) => socketState(socket).group !== null;

const report = (error: unknown) => console.error(String(error));

function memberAt(socket: PlatformSocket): Member {
  const { id, caller, base, prefetch = 1 } = socketState(socket);
  return {
    id,
    name: caller.name,
    agent: caller.agent,
    since: 0,
    prefetch,
    deliver({ entry, token, attempt, until }) {
      const { gap: _, ...message } = toMessage(entry, base) ?? {};
      socket.send(JSON.stringify({ ...message, token, attempt, lease_until: until }));
    },
  };
}
