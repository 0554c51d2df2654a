import type { DurableObjectState, WebSocket as PlatformSocket } from '@cloudflare/workers-types';
import { shownError } from '../../base/errors.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { INBOUND_FRAME_BYTES } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Member } from '../../domain/channels/group-rounds.ts';
import { toMessage } from '../../domain/channels/message.ts';
import type { Start } from '../../domain/channels/reader.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { entriesOf } from '../../engines/cloudflare/logs.ts';
import { StoreObject } from '../../engines/cloudflare/store-object.ts';
import { RateLimiter } from '../../interfaces/http/rate-limit.ts';
import { aboutOf, settle } from '../../interfaces/ws/settlement.ts';
import { ReadingRound } from './reading-round.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';
import { openObjectCore } from './worker-core.ts';

/** What is known of a socket; kept with it while the object sleeps. */
export interface Attached extends Start {
  readonly id: string;
  readonly stream: string;
  readonly caller: Caller;
  readonly base: string;
  readonly channel: string;
  /** Null for a reader. */
  readonly group: string | null;
  readonly since?: string | number;
  readonly prefetch?: number;
  /** It asked to resume, so it understands being told of a gap. */
  readonly resumes: boolean;
}

/** The header in which a Worker tells the object what it found out about a socket. Nothing else reaches an object. */
export const ATTACHED_HEADER = 'Relay-Attached';

const PAGE_ENTRIES = 100;
/** What has ended is removed so many at a time, each with two calls or so, of 50 that a request may make. */
const TIDIED_AT_ONCE = 16;
/** A channel whose old messages are still wanted by a group is looked at again after this. */
const LOOK_AGAIN_MS = 3_600_000;
const CHANNELS = 'chn.';
const REFUSED = 1008;
const TOO_BIG = 1009;
const PING = '{"ping":1}';
const PONG = '{"pong":1}';

/**
 * A part of the store whose channels have sockets. The platform holds the sockets while the object sleeps; an entry, a frame or a
 * new socket wakes it. How far each reader has been served is attached to its socket, so nothing is lost by sleeping.
 */
export class RelayObject extends StoreObject {
  readonly #core: RelayCore;
  readonly #limiter: RateLimiter;
  readonly #retentionMs: number;
  #serving: Promise<void> = Promise.resolve();

  constructor(state: DurableObjectState, bindings: RelayBindings) {
    super(state, bindings);
    this.#core = openObjectCore({ ...bindings, STORE: this.objects });
    const { rateLimits, channels } = workerConfig(bindings);
    this.#limiter = new RateLimiter(rateLimits, () => Date.now());
    this.#retentionMs = channels.retentionMs;
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG) as never);
  }

  /** Takes a socket over. */
  async fetch(request: Request): Promise<Response> {
    const attached: Attached = JSON.parse(decodeURIComponent(request.headers.get(ATTACHED_HEADER)!));
    if (attached.group !== null) {
      const { caller, channel, group, since } = attached;
      await this.#core.channels.groups.begin(caller, channel, group, since);
    }
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server as never);
    attach(server as unknown as PlatformSocket, attached);
    this.appended(attached.stream);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }

  /** Of a tenant, or of addresses: how many seconds a caller has to wait before it may ask again; 0 where it may now. */
  wait(caller: Caller | null, address: string): number {
    return this.#limiter.wait(caller, address);
  }

  charge(caller: Caller | null, address: string, bytes: number): void {
    this.#limiter.charge(caller, address, bytes);
  }

  async webSocketMessage(socket: PlatformSocket, data: string | ArrayBuffer): Promise<void> {
    const size = typeof data === 'string' ? data.length : data.byteLength;
    if (size > INBOUND_FRAME_BYTES) return socket.close(TOO_BIG, 'a frame is 4 KiB at most');
    const frame = typeof data === 'string' ? jsonObjectIn(data) : null;
    if (frame && 'ping' in frame) return socket.send(PONG);
    if ((await this.#welcome([socket])).length === 0) return;
    const { caller, base, channel, group } = attachedTo(socket);
    const relay = group === null ? null : this.#core.relay(caller, base);
    try {
      socket.send(JSON.stringify(await settle({ relay, channel, group }, frame)));
    } catch (error) {
      socket.send(JSON.stringify({ ...shownError(error).toJSON(), ...aboutOf(frame) }));
    }
  }

  /** One after the other, so that every reader gets everything in order and once. */
  protected override appended(stream: string): void {
    const sockets = this.ctx.getWebSockets();
    if (sockets.length > 0) this.#serve(stream, sockets);
    if (stream.startsWith(CHANNELS)) this.wakeAt(Date.now() + this.#retentionMs);
  }

  #serve(stream: string, sockets: readonly PlatformSocket[]): void {
    const serve = () => Promise.all([this.#serveReaders(stream, sockets), this.#serveMembers()]);
    this.#serving = this.#serving.then(serve).then(
      () => {},
      (error) => console.error(String(error)),
    );
    this.ctx.waitUntil(this.#serving);
  }

  /** A lease or a wait may be over, or the time for which messages are kept. */
  override async alarm(): Promise<void> {
    await super.alarm();
    await this.#serveMembers();
    for (const stream of this.streams(CHANNELS)) await this.#retain(stream);
  }

  /** Of the whole relay: removes some of what has ended; false where there is more. */
  tidySome(): Promise<boolean> {
    return this.#core.tidySome(TIDIED_AT_ONCE);
  }

  /** A channel drops what need not be kept any longer, and goes by the oldest message that is left. */
  async #retain(stream: string): Promise<void> {
    const oldest = () => this.readEntries(stream, 0, 1).entries[0]?.at;
    const first = oldest();
    if (first === undefined) return;
    if (first + this.#retentionMs > Date.now()) return this.wakeAt(first + this.#retentionMs);
    const [tenant, ...channel] = stream.slice(CHANNELS.length).split('.');
    await this.#core.channels.tidyOne(tenant!, channel.join('.'));
    const left = oldest();
    if (left !== undefined) this.wakeAt(Math.max(left + this.#retentionMs, Date.now() + LOOK_AGAIN_MS));
  }

  async #serveReaders(stream: string, sockets: readonly PlatformSocket[]): Promise<void> {
    const readers = sockets.filter((socket) => {
      const attached = attachedTo(socket);
      return attached.group === null && attached.stream === stream;
    });
    const round = new ReadingRound((after) => entriesOf(this.readEntries(stream, after, PAGE_ENTRIES)));
    for (const socket of await this.#welcome(readers)) this.#serveReader(socket, round);
  }

  /** Those whose key still works; the others are closed. A socket sleeps until something is due to it, so its key is looked at then. */
  async #welcome(sockets: readonly PlatformSocket[]): Promise<PlatformSocket[]> {
    const valid = new Map<string, boolean>();
    const welcome: PlatformSocket[] = [];
    for (const socket of sockets) {
      const { caller } = attachedTo(socket);
      const works = valid.get(caller.keyId) ?? (await this.#core.keys.isValid(caller));
      valid.set(caller.keyId, works);
      if (works) welcome.push(socket);
      else socket.close(REFUSED, 'the key no longer works');
    }
    return welcome;
  }

  #serveReader(socket: PlatformSocket, round: ReadingRound): void {
    for (;;) {
      const attached = attachedTo(socket);
      const { after, base, resumes } = attached;
      const entries = round.behind(after);
      if (entries.length === 0) return;
      const view = this.#core.channels.view(attached);
      let last = after;
      for (const entry of entries) {
        const seen = view.see(entry);
        if (seen) {
          if (seen.gap && resumes) socket.send(JSON.stringify({ gap: true, after: last, next: seen.seq }));
          socket.send(round.frame(seen, base));
        }
        last = entry.seq;
      }
      attach(socket, { ...attached, after: last, gap: view.owesGap, lenient: view.lenient });
    }
  }

  /** Hands the work of each group that has sockets to these. What they do with it comes in as frames or over HTTP. */
  async #serveMembers(): Promise<void> {
    const members = this.ctx.getWebSockets().filter((socket) => attachedTo(socket).group !== null);
    const groups = Map.groupBy(await this.#welcome(members), (socket) =>
      JSON.stringify([attachedTo(socket).stream, attachedTo(socket).group]),
    );
    for (const sockets of groups.values()) {
      const { caller, channel, group } = attachedTo(sockets[0]!);
      const members = new Map(sockets.map((socket) => [attachedTo(socket).id, memberAt(socket)]));
      this.wakeAt(await this.#core.channels.groups.rounds(caller, channel, group!).run(members));
    }
  }
}

function memberAt(socket: PlatformSocket): Member {
  const { id, caller, base, prefetch = 1 } = attachedTo(socket);
  return {
    id,
    name: caller.name,
    since: 0,
    prefetch,
    deliver({ entry, token, attempt, until }) {
      const { gap: _, ...message } = toMessage(entry, base) ?? {};
      socket.send(JSON.stringify({ ...message, token, attempt, lease_until: until }));
    },
  };
}

/** What is attached to sockets that were used since the object woke up: reading it from a socket takes a while. */
const known = new WeakMap<PlatformSocket, Attached>();

function attachedTo(socket: PlatformSocket): Attached {
  const attached = known.get(socket) ?? (socket.deserializeAttachment() as Attached);
  known.set(socket, attached);
  return attached;
}

function attach(socket: PlatformSocket, attached: Attached): void {
  socket.serializeAttachment(attached);
  known.set(socket, attached);
}
