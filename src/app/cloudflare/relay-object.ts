import type { DurableObjectState, WebSocket as PlatformSocket } from '@cloudflare/workers-types';
import { shownError } from '../../base/errors.ts';
import { jsonObjectIn } from '../../base/json.ts';
import { INBOUND_FRAME_BYTES, KEY_CHECK_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Member } from '../../domain/channels/group-rounds.ts';
import { toMessage } from '../../domain/channels/message.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { placeOfPart, type StoragePart, storageParts } from '../../domain/storage-parts.ts';
import { RECOUNT_MS } from '../../domain/usage/storage.ts';
import { objectOf, shortHash } from '../../engines/cloudflare/objects.ts';
import { StoreObject, type Stub } from '../../engines/cloudflare/store-object.ts';
import type { OutboxEntry } from '../../interfaces/a2a/webhook-outbox.ts';
import { RateLimiter } from '../../interfaces/http/rate-limit.ts';
import { frameSubject, settle } from '../../interfaces/ws/protocol.ts';
import { a2aProtocol } from '../serve/protocols.ts';
import { type Attached, attach, attachedTo, ChannelReaders } from './channel-readers.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';
import { CallBudget, openObjectCore, protocolOptions } from './worker-core.ts';

/** The header in which a Worker tells the object what it found out about a socket. Nothing else reaches an object. */
export const ATTACHED_HEADER = 'Relay-Attached';

/** What has ended is removed so many at a time, each with two calls or so, of 50 that a request may make. */
const TIDIED_AT_ONCE = 16;
/** A channel whose old messages were dropped, as far as no group wants them, is looked at again after this. */
const LOOK_AGAIN_MS = 3_600_000;
/** Channels whose old messages one alarm drops, each with a few calls of 50 that it may make; the rest wait for the next. */
const RETAINED_AT_ONCE = 6;
/** Shares of a tenant's storage that one object has measured by others, each with a call. A recount may measure twice. */
const MEASURED_AT_ONCE = 16;
/** What the object of a tenant is called, before the tenant. */
const TENANTS = objectOf('ten.');
/** How long webhooks are told of a task from one minute on; then the next begins to. */
const RESUME_MS = 50_000;
const CHANNELS = 'chn.';
const GROUPS = 'grp.';
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
  readonly #readers: ChannelReaders;
  readonly #retentionMs: number;
  /** Channels whose old messages were dropped, and until when they are left alone. */
  readonly #lookAgain = new Map<string, number>();
  /** Whether plans limit what is stored. */
  readonly #limits: boolean;
  /** Keys that were found to work in this moment. */
  #keys = { since: 0, working: new Set<string>() };
  #serving: Promise<void> = Promise.resolve();

  constructor(state: DurableObjectState, bindings: RelayBindings) {
    super(state, bindings);
    this.#core = openObjectCore({ ...bindings, STORE: this.objects });
    const { auth, rateLimits, channels } = workerConfig(bindings);
    this.#limiter = new RateLimiter(rateLimits, () => Date.now());
    this.#retentionMs = channels.retentionMs;
    this.#limits = auth === 'keys';
    this.#readers = new ChannelReaders({
      readers: (channel) => this.#socketsOf(channel).filter((socket) => !isMember(socket)),
      welcome: (sockets) => this.#welcome(sockets),
      readEntries: (...asked) => this.readEntries(...asked),
      view: (start) => this.#core.channels.view(start),
      wakeAt: (due) => this.wakeAt(due),
    });
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
    this.ctx.acceptWebSocket(server as never, [tagOf(attached.stream)]);
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
      socket.send(JSON.stringify({ ...shownError(error).toJSON(), ...frameSubject(frame) }));
    }
  }

  /** The platform leaves it to the object to answer a close; until then the other side waits. */
  webSocketClose(socket: PlatformSocket, code: number, reason: string): void {
    // Both say that no code came with it, and cannot be sent.
    const answer = code === 1005 || code === 1006 ? 1000 : code;
    try {
      socket.close(answer, reason);
    } catch {
      // It is closed already.
    }
  }

  /** A channel, or a group of one, which then has no news for mere readers. */
  protected override appended(stream: string): void {
    const isGroup = stream.startsWith(GROUPS);
    if (!isGroup && !stream.startsWith(CHANNELS)) return;
    const channel = isGroup ? CHANNELS + stream.slice(GROUPS.length, stream.lastIndexOf('.')) : stream;
    const sockets = this.#socketsOf(channel);
    const members = sockets.filter(isMember);
    if (members.length > 0) {
      // One after the other, so that no two hand out the same.
      this.#serving = this.#serving.then(() => this.#serveMembers(members)).catch(report);
      this.ctx.waitUntil(this.#serving);
    }
    if (isGroup) return;
    if (members.length < sockets.length) this.#serveReaders(channel);
    this.wakeAt(Date.now() + this.#retentionMs);
  }

  #serveReaders(channel: string): void {
    this.ctx.waitUntil(this.#readers.serve(channel).catch(report));
  }

  #socketsOf(channel: string): PlatformSocket[] {
    return this.ctx.getWebSockets(tagOf(channel)).filter((socket) => attachedTo(socket).stream === channel);
  }

  /** A lease or a wait may be over, or the time for which messages are kept; or readers were left behind when the object was evicted. */
  override async alarm(): Promise<void> {
    await super.alarm();
    const sockets = this.ctx.getWebSockets();
    const read = Map.groupBy(
      sockets.filter((socket) => !isMember(socket)),
      (socket) => attachedTo(socket).stream,
    );
    for (const [channel, readers] of read) {
      const after = Math.min(...readers.map((socket) => attachedTo(socket).after));
      if (this.readEntries(channel, after, 1).entries.length > 0) this.#serveReaders(channel);
    }
    await this.#serveMembers(sockets.filter(isMember));
    await this.#retainSome();
    await this.#recountIfDue();
  }

  /** Channels drop what need not be kept any longer. */
  async #retainSome(): Promise<void> {
    let left = RETAINED_AT_ONCE;
    for (const stream of this.streams(CHANNELS)) {
      const due = this.#dropDue(stream);
      if (due > Date.now()) this.wakeAt(due);
      else if (left-- > 0) await this.#retain(stream);
      else return this.wakeAt(Date.now());
    }
  }

  /** Of a tenant: has what it stores counted again, by its alarm, which the platform repeats where it was broken off. */
  async recount(tenant: string): Promise<void> {
    await this.#core.storage.forgetCount(tenant);
    this.wakeAt(Date.now());
  }

  async #recountIfDue(): Promise<void> {
    if (!this.name?.startsWith(TENANTS)) return;
    const tenant = this.name.slice(TENANTS.length);
    const { storage, deps } = this.#core;
    if (this.#limits ? !(await storage.isDue(tenant)) : await storage.isCounted(tenant)) return;
    await storage.recount(tenant, async () =>
      this.bytesOf(await Array.fromAsync(storageParts(deps.engine.records, tenant))),
    );
  }

  /** What parts of a tenant's storage take up. Each is measured by the object it is in; many are shared out, since a call may make few others. */
  async bytesOf(parts: readonly StoragePart[]): Promise<number> {
    const [only] = parts;
    if (only && parts.length === 1) return this.#core.bytesOf(only);
    const share = Math.ceil(parts.length / MEASURED_AT_ONCE);
    const shares = Array.from({ length: Math.ceil(parts.length / Math.max(1, share)) }, (_, i) =>
      parts.slice(i * share, (i + 1) * share),
    );
    const bytes = await Promise.all(shares.map((some) => this.#home(some[0]!).bytesOf(some)));
    return bytes.reduce((sum, of) => sum + of, 0);
  }

  #home(part: StoragePart): Stub<RelayObject> {
    const object: unknown = this.objects.get(this.objects.idFromName(objectOf(placeOfPart(part))));
    return object as Stub<RelayObject>;
  }

  /** What a tenant has counted is held against what is there after some hours. */
  override addToRecord(...given: Parameters<StoreObject['addToRecord']>) {
    if (this.#limits && given[0].includes('/storage/')) this.wakeAt(Date.now() + RECOUNT_MS);
    return super.addToRecord(...given);
  }

  /** Of the whole relay: removes some of what has ended; false where there is more. */
  tidySome(): Promise<boolean> {
    return this.#core.sweepSome(TIDIED_AT_ONCE);
  }

  /** Tells the webhooks of a task what is left to tell, for about a minute. */
  async resume(entry: OutboxEntry): Promise<void> {
    const budget = new CallBudget(this.objects, workerConfig(this.env as RelayBindings).calls);
    const bindings = { ...(this.env as RelayBindings), STORE: budget.objects };
    const core = openObjectCore(bindings);
    const ends = AbortSignal.any([AbortSignal.timeout(RESUME_MS), budget.spent]);
    await a2aProtocol(protocolOptions(core, bindings), ends).resume([entry]);
    await core.deps.engine[Symbol.asyncDispose]();
    await core.close();
  }

  /** A channel drops what need not be kept any longer, and goes by the oldest message that is left. */
  async #retain(stream: string): Promise<void> {
    const [tenant, ...channel] = stream.slice(CHANNELS.length).split('.');
    await this.#core.channels.sweepChannel(tenant!, channel.join('.'));
    this.#lookAgain.set(stream, Date.now() + LOOK_AGAIN_MS);
    this.wakeAt(this.#dropDue(stream));
  }

  /** When a channel has messages to drop. */
  #dropDue(stream: string): number {
    const oldest = this.readEntries(stream, 0, 1).entries[0];
    if (oldest) return Math.max(oldest.at + this.#retentionMs, this.#lookAgain.get(stream) ?? 0);
    this.#lookAgain.delete(stream);
    return Number.POSITIVE_INFINITY;
  }

  /**
   * Those whose key still works; the others are closed. A socket sleeps until something is due to it, so its key is looked at then, all keys
   * in one turn, and not again for as long as a server would not.
   */
  async #welcome(sockets: readonly PlatformSocket[]): Promise<PlatformSocket[]> {
    const now = Date.now();
    if (Math.abs(now - this.#keys.since) >= KEY_CHECK_MS) this.#keys = { since: now, working: new Set() };
    const { working } = this.#keys;
    const callers = new Map(
      sockets.map((socket) => [attachedTo(socket).caller.keyId, attachedTo(socket).caller]),
    );
    const look = async ([keyId, caller]: [string, Caller]) => {
      if (!working.has(keyId) && (await this.#core.keys.isValid(caller))) working.add(keyId);
    };
    await Promise.all(Array.from(callers, look));
    return sockets.filter((socket) => {
      const works = working.has(attachedTo(socket).caller.keyId);
      if (!works) socket.close(REFUSED, 'the key no longer works');
      return works;
    });
  }

  /** Hands the work of each group that has sockets to these. What they do with it comes in as frames or over HTTP. */
  async #serveMembers(members: readonly PlatformSocket[]): Promise<void> {
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

/** By which the platform finds the sockets of a channel among those of its neighbours; another may have the same. */
function tagOf(stream: string): string {
  return shortHash(stream).toString(36);
}

const isMember = (socket: PlatformSocket) => attachedTo(socket).group !== null;

const report = (error: unknown) => console.error(String(error));

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
