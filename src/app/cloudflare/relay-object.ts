import type { DurableObjectState, WebSocket as PlatformSocket } from '@cloudflare/workers-types';
import { toRelayError } from '../../base/errors.ts';
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
import type { OutboxEntry } from '../../interfaces/a2a/outbox-records.ts';
import { RateLimiter } from '../../interfaces/http/rate-limit.ts';
import { frameSubject, settle } from '../../interfaces/ws/protocol.ts';
import { a2aProtocol } from '../serve/protocols.ts';
import { ChannelReaders, type SocketState, setSocketState, socketState } from './channel-readers.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';
import { CallBudget, openObjectCore, protocolOptions } from './worker-core.ts';

/**
 * Header in which the Worker passes the state of a new socket. The header can be trusted, because only the
 * Worker can send requests to an object.
 */
export const SOCKET_STATE_HEADER = 'Relay-Attached';

/**
 * Maximum number of ended items that one request sweeps. Each item needs about two of the 50 calls that a
 * request may make.
 */
const SWEPT_AT_ONCE = 16;
/**
 * Minimum time in ms between two trims of a channel. A trim keeps expired messages that a group still needs.
 * Without a minimum, the alarm would fire again at once for these messages.
 */
const TRIM_INTERVAL_MS = 3_600_000;
/**
 * Maximum number of channels that one alarm trims. Each channel needs a few of the 50 calls that an alarm
 * may make.
 */
const TRIMMED_AT_ONCE = 6;
/**
 * Maximum number of objects that one object asks to measure parts of a tenant's storage. Each object needs
 * one call, and a recount may measure twice. An object may make 50 calls.
 */
const MEASURED_AT_ONCE = 16;
/** Prefix of the names of tenant objects. */
const TENANT_PREFIX = objectOf('ten.');
/** Maximum time in ms that one cron job spends on webhook deliveries. The job of the next minute continues them. */
const WEBHOOK_ROUND_MS = 50_000;
const CHANNEL_PREFIX = 'chn.';
const GROUP_PREFIX = 'grp.';
const REFUSED = 1008;
const TOO_BIG = 1009;
const PING = '{"ping":1}';
const PONG = '{"pong":1}';

/**
 * Durable Object of the store that also serves the WebSockets of its channels. The platform holds the
 * sockets while the object hibernates. An entry, a frame or a new socket wakes the object. The position of
 * each reader is stored with its socket.
 */
export class RelayObject extends StoreObject {
  readonly #core: RelayCore;
  readonly #limiter: RateLimiter;
  readonly #readers: ChannelReaders;
  readonly #retentionMs: number;
  /** Earliest time of the next trim in ms since the epoch, by channel. */
  readonly #nextTrim = new Map<string, number>();
  /** True if plans limit the storage of tenants. */
  readonly #hasQuotas: boolean;
  /** Ids of the API keys that were found valid since the time `since`, in ms. */
  #keys = { since: 0, working: new Set<string>() };
  #serving: Promise<void> = Promise.resolve();

  constructor(state: DurableObjectState, bindings: RelayBindings) {
    super(state, bindings);
    this.#core = openObjectCore({ ...bindings, STORE: this.objects });
    const { auth, rateLimits, channels } = workerConfig(bindings);
    this.#limiter = new RateLimiter(rateLimits, () => Date.now());
    this.#retentionMs = channels.retentionMs;
    this.#hasQuotas = auth === 'keys';
    this.#readers = new ChannelReaders({
      readers: (channel) => this.#socketsOf(channel).filter((socket) => !isMember(socket)),
      withValidKey: (sockets) => this.#withValidKey(sockets),
      readEntries: (...args) => this.readEntries(...args),
      view: (start) => this.#core.channels.view(start),
      wakeAt: (due) => this.wakeAt(due),
    });
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  }

  /** Accepts a WebSocket that the Worker has authorized. */
  async fetch(request: Request): Promise<Response> {
    const state: SocketState = JSON.parse(decodeURIComponent(request.headers.get(SOCKET_STATE_HEADER)!));
    if (state.group !== null) {
      const { caller, channel, group, since } = state;
      await this.#core.channels.groups.begin(caller, channel, group, since);
    }
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, [tagOf(state.stream)]);
    setSocketState(server, state);
    this.appended(state.stream);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }

  /**
   * Applies the rate limit of a tenant or address, which this object stores. Returns the seconds until the
   * next request is allowed, 0 if it is allowed now.
   */
  wait(caller: Caller | null, address: string): number {
    return this.#limiter.wait(caller, address);
  }

  /** Charges transferred bytes to the rate limit. */
  charge(caller: Caller | null, address: string, bytes: number): void {
    this.#limiter.charge(caller, address, bytes);
  }

  async webSocketMessage(socket: PlatformSocket, data: string | ArrayBuffer): Promise<void> {
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

  /** Answers a close frame, because the platform does not answer it and the client would wait. */
  webSocketClose(socket: PlatformSocket, code: number, reason: string): void {
    // 1005 and 1006 mean that the client sent no code. These codes must not be sent, so answer with 1000.
    const answer = code === 1005 || code === 1006 ? 1000 : code;
    try {
      socket.close(answer, reason);
    } catch {
      // The socket is already closed.
    }
  }

  /** Serves the sockets of a channel after an append to the channel or to one of its groups. */
  protected override appended(stream: string): void {
    const isGroup = stream.startsWith(GROUP_PREFIX);
    if (!isGroup && !stream.startsWith(CHANNEL_PREFIX)) return;
    const channel = isGroup
      ? CHANNEL_PREFIX + stream.slice(GROUP_PREFIX.length, stream.lastIndexOf('.'))
      : stream;
    const sockets = this.#socketsOf(channel);
    const members = sockets.filter(isMember);
    if (members.length > 0) {
      // Start each run after the previous one, otherwise two runs could deliver the same message.
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
    return this.ctx.getWebSockets(tagOf(channel)).filter((socket) => socketState(socket).stream === channel);
  }

  /**
   * Does the work that is due: serves readers that were behind when the object was evicted, serves group members,
   * whose leases may have ended, trims channels with expired messages, and recounts the tenant's storage.
   */
  override async alarm(): Promise<void> {
    await super.alarm();
    const sockets = this.ctx.getWebSockets();
    const read = Map.groupBy(
      sockets.filter((socket) => !isMember(socket)),
      (socket) => socketState(socket).stream,
    );
    for (const [channel, readers] of read) {
      const after = Math.min(...readers.map((socket) => socketState(socket).after));
      if (this.readEntries(channel, after, 1).entries.length > 0) this.#serveReaders(channel);
    }
    await this.#serveMembers(sockets.filter(isMember));
    await this.#trimSome();
    await this.#recountIfDue();
  }

  /** Trims channels with expired messages, at most `TRIMMED_AT_ONCE`. */
  async #trimSome(): Promise<void> {
    let left = TRIMMED_AT_ONCE;
    for (const stream of this.streams(CHANNEL_PREFIX)) {
      const due = this.#trimDue(stream);
      if (due > Date.now()) this.wakeAt(due);
      else if (left-- > 0) await this.#trimChannel(stream);
      else return this.wakeAt(Date.now());
    }
  }

  /**
   * Starts a recount of a tenant's storage in the tenant's object. The alarm runs the recount, because the
   * platform retries a failed alarm.
   */
  async recount(tenant: string): Promise<void> {
    await this.#core.storage.forgetCount(tenant);
    this.wakeAt(Date.now());
  }

  async #recountIfDue(): Promise<void> {
    if (!this.name?.startsWith(TENANT_PREFIX)) return;
    const tenant = this.name.slice(TENANT_PREFIX.length);
    const { storage, deps } = this.#core;
    if (this.#hasQuotas ? !(await storage.isDue(tenant)) : await storage.isCounted(tenant)) return;
    await storage.recount(tenant, async () =>
      this.bytesOf(await Array.fromAsync(storageParts(deps.engine.records, tenant))),
    );
  }

  /**
   * Returns the bytes of parts of a tenant's storage. Each part is measured by the object that stores it. If
   * there are many parts, several objects share the work.
   */
  async bytesOf(parts: readonly StoragePart[]): Promise<number> {
    const [only] = parts;
    if (only && parts.length === 1) return this.#core.bytesOf(only);
    const share = Math.ceil(parts.length / MEASURED_AT_ONCE);
    const shares = Array.from({ length: Math.ceil(parts.length / Math.max(1, share)) }, (_, i) =>
      parts.slice(i * share, (i + 1) * share),
    );
    const bytes = await Promise.all(shares.map((some) => this.#objectOfPart(some[0]!).bytesOf(some)));
    return bytes.reduce((sum, size) => sum + size, 0);
  }

  #objectOfPart(part: StoragePart): Stub<RelayObject> {
    const object: unknown = this.objects.get(this.objects.idFromName(objectOf(placeOfPart(part))));
    return object as Stub<RelayObject>;
  }

  /** Plans a recount after a tenant's storage counter changed. */
  override addToRecord(...args: Parameters<StoreObject['addToRecord']>) {
    if (this.#hasQuotas && args[0].includes('/storage/')) this.wakeAt(Date.now() + RECOUNT_MS);
    return super.addToRecord(...args);
  }

  /** Sweeps up to `SWEPT_AT_ONCE` ended items of the whole relay. Returns false if more items are left. */
  tidySome(): Promise<boolean> {
    return this.#core.sweepSome(SWEPT_AT_ONCE);
  }

  /** Continues the pending webhook deliveries of a task, for up to 50 s. */
  async resume(entry: OutboxEntry): Promise<void> {
    const budget = new CallBudget(this.objects, workerConfig(this.env as RelayBindings).calls);
    const bindings = { ...(this.env as RelayBindings), STORE: budget.objects };
    const core = openObjectCore(bindings);
    const ends = AbortSignal.any([AbortSignal.timeout(WEBHOOK_ROUND_MS), budget.spent]);
    await a2aProtocol(protocolOptions(core, bindings), ends).resume([entry]);
    await core.deps.engine[Symbol.asyncDispose]();
    await core.close();
  }

  /** Trims a channel and sets the alarm for its next trim. */
  async #trimChannel(stream: string): Promise<void> {
    const [tenant, ...channel] = stream.slice(CHANNEL_PREFIX.length).split('.');
    await this.#core.channels.sweepChannel(tenant!, channel.join('.'));
    this.#nextTrim.set(stream, Date.now() + TRIM_INTERVAL_MS);
    this.wakeAt(this.#trimDue(stream));
  }

  /** Returns the time of the next trim of a channel. */
  #trimDue(stream: string): number {
    const oldest = this.readEntries(stream, 0, 1).entries[0];
    if (oldest) return Math.max(oldest.at + this.#retentionMs, this.#nextTrim.get(stream) ?? 0);
    this.#nextTrim.delete(stream);
    return Number.POSITIVE_INFINITY;
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

  /**
   * Delivers messages of each group to its connected members. Members acknowledge with frames or over HTTP.
   */
  async #serveMembers(members: readonly PlatformSocket[]): Promise<void> {
    const groups = Map.groupBy(await this.#withValidKey(members), (socket) =>
      JSON.stringify([socketState(socket).stream, socketState(socket).group]),
    );
    for (const sockets of groups.values()) {
      const { caller, channel, group } = socketState(sockets[0]!);
      const members = new Map(sockets.map((socket) => [socketState(socket).id, memberAt(socket)]));
      this.wakeAt(await this.#core.channels.groups.rounds(caller, channel, group!).run(members));
    }
  }
}

/**
 * Returns the tag of a channel's sockets. The tag is a short hash, so another channel in the same object may have
 * the same tag. So `#socketsOf` also compares the channel.
 */
function tagOf(stream: string): string {
  return shortHash(stream).toString(36);
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
