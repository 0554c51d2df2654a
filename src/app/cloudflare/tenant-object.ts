import { DurableObject } from 'cloudflare:workers';
import type { DurableObjectState, WebSocket as PlatformSocket } from '@cloudflare/workers-types';
import type { Context } from 'hono';
import { type Env, systemEnv } from '../../base/env.ts';
import { RelayError } from '../../base/errors.ts';
import { equalInConstantTime } from '../../base/hash.ts';
import { WEBHOOK_TIME_MS, WORKER_JSON_ARTIFACT_BYTES, WORKER_MESSAGE_BYTES } from '../../base/limits.ts';
import { authorize } from '../../contract/authorize.ts';
import { type Caller, LOCAL_CALLER } from '../../contract/caller.ts';
import { channels } from '../../contract/channels.ts';
import { channelStream } from '../../domain/names.ts';
import { RelayCore } from '../../domain/relay-core.ts';
import { RECOUNT_MS } from '../../domain/usage/storage.ts';
import { type ObjectEngine, openObjectEngine } from '../../engines/cloudflare/engine.ts';
import type { FormerRow, FormerTable } from '../../engines/cloudflare/former-store.ts';
import { hasOutboxEntries } from '../../interfaces/a2a/outbox-records.ts';
import type { WebhookPost } from '../../interfaces/a2a/webhooks.ts';
import { createHttpApp } from '../../interfaces/http/app.ts';
import { browserPolicy } from '../../interfaces/http/browser-guard.ts';
import { keyAuthenticator, openAuthenticator } from '../../interfaces/http/callers.ts';
import { type DashboardFiles, typeOfFile } from '../../interfaces/http/dashboard.ts';
import type { HttpDeps, LogEvent } from '../../interfaces/http/deps.ts';
import { RateLimiter } from '../../interfaces/http/rate-limit.ts';
import { parseTarget } from '../../interfaces/ws/protocol.ts';
import type { Engine } from '../../kernel/engine.ts';
import { a2aProtocol, mcpProtocol } from '../serve/protocols.ts';
import { answerClose, ChannelSockets, type SocketState } from './channel-sockets.ts';
import { FIRST_OBJECT, type RemotePort, TenantRouting } from './tenant-routing.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';
import { workerTextWork } from './worker-text-work.ts';

declare const RELAY_VERSION: string;

/**
 * Minimum time in ms between a write and the sweep that it plans, and between two planned sweeps. A sweep is not
 * urgent, because expired data is already invisible, and it scans all rows.
 */
const SWEEP_EVERY_MS = 3_600_000;
/** Time in ms after which an alarm whose work failed runs again. */
const RETRY_ALARM_MS = 60_000;
/** Time in ms after which an object that was evicted continues the webhooks of A2A tasks. */
const WEBHOOK_ALARM_MS = 60_000;
/** Indexes of items with a due time (`EndIndex`). Delayed messages are published on time, other items in a sweep. */
const DUE = /^sys\.(dly|thr|fil)\/(\d+)\//;
const DUE_PREFIXES = ['sys.dly/', 'sys.thr/', 'sys.fil/'];
const OUTBOX_PREFIX = 'sys.a2a/';
const CHANNEL_PREFIX = 'chn.';
/** Counters of the storage that a tenant uses. */
const STORAGE = /^ten\.[^/]+\/storage\//;

/** The parts of a running relay. */
interface Running {
  readonly store: ObjectEngine;
  readonly core: RelayCore;
  readonly sockets: ChannelSockets;
  answer(request: Request): Response | Promise<Response>;
}

/**
 * Durable Object with all data of a tenant. The domain runs in it, over its SQLite database. It serves HTTP and the
 * WebSockets of the tenant, and does background work by alarms.
 */
export class TenantObject extends DurableObject<RelayBindings> {
  readonly #running: Promise<Running>;
  #alarm: number | null = null;
  #sweptAt = 0;

  constructor(state: DurableObjectState, bindings: RelayBindings) {
    super(state, bindings);
    this.#running = state.blockConcurrencyWhile(async () => {
      // The alarm survives an eviction. Read its time, because setting another alarm would replace it.
      this.#alarm = await state.storage.getAlarm();
      return this.#start();
    }) as Promise<Running>;
  }

  async fetch(request: Request): Promise<Response> {
    return (await this.#running).answer(request);
  }

  /** Calls a method of a port of this object's own store, for another object. */
  async call(port: RemotePort, method: string, args: readonly unknown[]): Promise<unknown> {
    const { store } = await this.#running;
    if (port === 'records') this.#planned(method, args);
    return (store[port] as unknown as { [method: string]: (...args: readonly unknown[]) => unknown })[
      method
    ]!(...args);
  }

  /** Writes rows of an earlier version, for a move. */
  async importRows(table: FormerTable, rows: readonly FormerRow[]): Promise<void> {
    const { store } = await this.#running;
    await store.importRows(table, rows);
    this.#wakeAt(Date.now() + SWEEP_EVERY_MS);
  }

  async webSocketMessage(socket: PlatformSocket, data: string | ArrayBuffer): Promise<void> {
    await (await this.#running).sockets.message(socket, data);
  }

  webSocketClose(socket: PlatformSocket, code: number, reason: string): void {
    answerClose(socket, code, reason);
  }

  /** Does the work that is due and sets the next alarm. */
  async alarm(): Promise<void> {
    this.#alarm = null;
    const { store, core, sockets } = await this.#running;
    let retryAt = 0;
    // A step that fails must not keep the others from running.
    const step = async (work: () => Promise<unknown>) => {
      try {
        await work();
      } catch (error) {
        log({ level: 'error', event: 'alarm', error: String(error) });
        retryAt = Date.now() + RETRY_ALARM_MS;
      }
    };
    await step(() => sockets.serveAll());
    await step(() => core.channels.delayed.release());
    // After an eviction the time of the last sweep is unknown, so sweep again.
    if (Math.abs(Date.now() - this.#sweptAt) >= SWEEP_EVERY_MS) {
      this.#sweptAt = Date.now();
      const tenants = store.segments('ten.').map((segment) => segment.slice('ten.'.length));
      await step(() => core.sweepStore(tenants));
      for (const tenant of tenants)
        await step(async () => (await this.#isRecountDue(core, tenant)) && core.recount(tenant));
    }
    if (retryAt > 0) this.#wakeAt(retryAt);
    await this.#planAll(store, core, retryAt);
  }

  async #isRecountDue({ storage }: RelayCore, tenant: string): Promise<boolean> {
    return workerConfig(this.env).auth === 'keys' && storage.isDue(tenant);
  }

  protected running(): Promise<Running> {
    return this.#running;
  }

  async #start(): Promise<Running> {
    const { ctx, env: bindings } = this;
    const { auth, core: options, textBytes } = workerConfig(bindings);
    let sockets: ChannelSockets | null = null;
    const store = await openObjectEngine({
      storage: ctx.storage,
      bucket: bindings.BODIES,
      committed: (streams) => {
        sockets?.committed(streams);
        if ([...streams].some((stream) => stream.startsWith(CHANNEL_PREFIX)))
          this.#wakeAt(Date.now() + core.channels.settings.retentionMs);
      },
    });
    const name = await this.#name();
    const own = auth === 'open' ? undefined : name;
    const engine = own === undefined ? store : new TenantRouting(bindings.TENANTS).route(store, own);
    // The ids of the relay's own tenant have no mark, like those of other relays.
    const env: Env = { ...systemEnv, idMark: own === FIRST_OBJECT ? undefined : own };
    const core: RelayCore = new RelayCore(
      { engine: this.#planning(engine), env, texts: workerTextWork(textBytes) },
      options,
    );
    sockets = new ChannelSockets({ state: ctx, core, wakeAt: (due) => this.#wakeAt(due) });
    const stopping = new AbortController().signal;
    const protocolOptions = {
      core,
      version: RELAY_VERSION,
      auth,
      messageBytes: WORKER_MESSAGE_BYTES,
      webhooks,
      log,
    };
    const a2a = a2aProtocol(protocolOptions, stopping);
    const answer = createHttpApp(httpDeps(bindings, core, sockets, stopping), [
      mcpProtocol(protocolOptions, stopping),
      a2a,
    ]);
    // Webhooks of tasks that ended while the object was evicted.
    a2a.resume().catch((error) => log({ level: 'warn', event: 'a2a', error: String(error) }));
    return { store, core, sockets, answer: (request) => answer(request, request) };
  }

  /** Returns the name of this object. The platform does not pass it to an alarm, so the object stores it. */
  async #name(): Promise<string> {
    const { id, storage } = this.ctx;
    const stored = await storage.get<string>('name');
    if (stored === undefined && id.name !== undefined) await storage.put('name', id.name);
    const name = stored ?? id.name;
    if (name === undefined) throw new Error('The name of this object is unknown.');
    return name;
  }

  /** Wraps an engine so that each write plans the sweep or the publication that it needs. */
  #planning(engine: Engine): Engine {
    const { records } = engine;
    const planned = new Proxy(records, {
      get:
        (of, method: string) =>
        (...args: unknown[]) => {
          this.#planned(method, args);
          return (of as unknown as { [method: string]: (...args: unknown[]) => unknown })[method]!(...args);
        },
    });
    return { ...engine, records: planned };
  }

  #planned(method: string, args: readonly unknown[]): void {
    if (method !== 'put' && method !== 'add') return;
    const [key, , o] = args as [string, unknown, { expiresAt?: number } | undefined];
    const now = Date.now();
    if (o?.expiresAt !== undefined) this.#wakeAt(Math.max(o.expiresAt, now + SWEEP_EVERY_MS));
    if (key.startsWith(OUTBOX_PREFIX)) this.#wakeAt(now + WEBHOOK_ALARM_MS);
    if (STORAGE.test(key) && workerConfig(this.env).auth === 'keys') this.#wakeAt(now + RECOUNT_MS);
    this.#wakeAt(dueOf(key, now));
  }

  /** Sets the alarm for the earliest work of the whole object, but not before `earliest`. */
  async #planAll(store: ObjectEngine, core: RelayCore, earliest: number): Promise<void> {
    const now = Date.now();
    const soon = (due: number | null) => due && Math.max(due, now + SWEEP_EVERY_MS);
    const oldest = store.oldestEntry('chn.');
    this.#wakeAt(soon(store.nextExpiry()));
    this.#wakeAt(soon(oldest && oldest + core.channels.settings.retentionMs));
    for (const prefix of DUE_PREFIXES) {
      const [first] = (await store.records.list(prefix, { limit: 1 })).items;
      const due = first ? dueOf(first.key, now) : null;
      this.#wakeAt(due && Math.max(due, earliest));
    }
    if (await hasOutboxEntries({ ...core.deps, engine: store })) this.#wakeAt(now + WEBHOOK_ALARM_MS);
  }

  /** Moves the alarm forward to this time. Does nothing if the alarm is earlier or the time is null. */
  #wakeAt(due: number | null): void {
    if (due === null || due >= (this.#alarm ?? Number.POSITIVE_INFINITY)) return;
    this.#alarm = due;
    void this.ctx.storage.setAlarm(due);
  }
}

/** Returns the time at which the item of an `EndIndex` key must be handled. Null for other keys. */
function dueOf(key: string, now: number): number | null {
  const [, kind, due] = DUE.exec(key) ?? [];
  if (due === undefined) return null;
  return kind === 'dly' ? Number(due) : Math.max(Number(due), now + SWEEP_EVERY_MS);
}

function httpDeps(
  bindings: RelayBindings,
  core: RelayCore,
  sockets: ChannelSockets,
  stopping: AbortSignal,
): HttpDeps {
  const config = workerConfig(bindings);
  const authenticate = authenticator(bindings, core);
  return {
    core,
    version: RELAY_VERSION,
    publicUrl: config.publicUrl,
    browsers: browserPolicy({ ...config, anyAddress: false }),
    dashboard: bindings.ASSETS && workerPages(bindings.ASSETS),
    authenticate,
    // The platform sets this header and overwrites it if a client sends it.
    peerOf: (request) => (request as Request).headers.get('cf-connecting-ip'),
    headerOf: (request, name) => (request as Request).headers.get(name),
    onGone: (request, then) => (request as Request).signal.addEventListener('abort', then),
    jsonArtifactBytes: WORKER_JSON_ARTIFACT_BYTES,
    trustsProxies: false,
    isTrustedProxy: () => false,
    stopping,
    ...(config.auth === 'keys' ? { limiter: new RateLimiter(config.rateLimits, () => Date.now()) } : {}),
    log,
    socket: (c, base) => openSocket(c, base, { core, sockets, authenticate }),
  };
}

function authenticator(bindings: RelayBindings, core: RelayCore): HttpDeps['authenticate'] {
  if (workerConfig(bindings).auth === 'open') return openAuthenticator(core.keys);
  const byKey = keyAuthenticator(core.keys);
  const admin = bindings.RELAY_ADMIN_KEY;
  return (authorization) =>
    admin && equalInConstantTime(authorization ?? '', `Bearer ${admin}`)
      ? LOCAL_CALLER
      : byKey(authorization);
}

/** Authorizes a WebSocket request and accepts its socket. */
async function openSocket(
  c: Context,
  base: string,
  { core, sockets, authenticate }: Pick<Running, 'core' | 'sockets'> & Pick<HttpDeps, 'authenticate'>,
): Promise<Response> {
  const { pathname, search } = new URL(c.req.url);
  const target = parseTarget(pathname + search);
  if (!target) throw new RelayError('no_route', { method: 'GET', path: pathname.slice(0, 200) });
  const { channel, group, since, prefetch, ticket } = target;
  const authorization = c.req.header('authorization') ?? null;
  const known = ticket === undefined ? await authenticate(authorization) : await redeemed(core, ticket);
  const caller = core.actingAs(known, target.agent);
  authorize(caller, channels.subscribe, { name: channel });
  if (await core.channels.isPattern(caller, channel, target))
    return sockets.acceptPattern(caller, channel, since, base);
  const stream = channelStream(caller.tenant, channel);
  const start =
    group === undefined
      ? await core.channels.start(caller.tenant, channel, since)
      : { after: 0, gap: false, lenient: false };
  const state: SocketState = {
    id: crypto.randomUUID(),
    ...start,
    stream,
    caller,
    base,
    channel,
    group: group ?? null,
    since,
    prefetch,
    resumes: since !== undefined,
  };
  return sockets.accept(state);
}

async function redeemed(core: RelayCore, ticket: string): Promise<Caller> {
  const caller = await core.channels.redeem(ticket);
  if (caller && (await core.keys.isValid(caller))) return caller;
  throw new RelayError('unauthorized', {
    message: 'The ticket is invalid, has expired or was already used.',
    hint: 'A ticket works once, within 30 seconds. Request another one with POST /ws-ticket.',
  });
}

/** Sends webhooks. Does not check for private addresses, because a Worker is in no private network. */
const webhooks = async (): Promise<WebhookPost> => ({
  async check(text) {
    if (!URL.canParse(text)) throw new Error('it is not a URL');
  },
  async post(text, { headers, body }) {
    const signal = AbortSignal.timeout(WEBHOOK_TIME_MS);
    const answer = await fetch(text, { method: 'POST', headers, body, redirect: 'manual', signal });
    if (!answer.ok) throw new Error(`The webhook at ${new URL(text).host} answered ${answer.status}.`);
  },
});

function log(event: LogEvent): void {
  console[event.level === 'info' ? 'log' : event.level](JSON.stringify(event));
}

/**
 * Reads the dashboard from the platform's static assets, which do not count towards the size of the Worker.
 * The Worker runs before the assets, so responses have the relay's headers. The platform compresses the
 * responses.
 */
function workerPages(assets: NonNullable<RelayBindings['ASSETS']>): DashboardFiles {
  return {
    async read(path) {
      const type = typeOfFile(path);
      if (type === null) return null;
      const answer = await assets.fetch(`https://assets.local/${path}`);
      if (!answer.ok) return null;
      const hash = (answer.headers.get('etag') ?? '').replace(/^W\/|"/g, '');
      return { body: new Uint8Array(await answer.arrayBuffer()), type, encoding: null, hash };
    },
  };
}
