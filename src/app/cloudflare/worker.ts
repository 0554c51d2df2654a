import { waitUntil } from 'cloudflare:workers';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext, ScheduledController } from '@cloudflare/workers-types';
import type { Context } from 'hono';
import { RelayError, toRelayError } from '../../base/errors.ts';
import { equalInConstantTime } from '../../base/hash.ts';
import { WORKER_JSON_ARTIFACT_BYTES } from '../../base/limits.ts';
import { authorize } from '../../contract/authorize.ts';
import { type Caller, isAnonymous, LOCAL_CALLER } from '../../contract/caller.ts';
import { channels, type Since } from '../../contract/channels.ts';
import { channelStream } from '../../domain/names.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { objectOf } from '../../engines/cloudflare/objects.ts';
import type { Stub } from '../../engines/cloudflare/store-object.ts';
import { outboxEntries } from '../../interfaces/a2a/outbox-records.ts';
import { createHttpApp } from '../../interfaces/http/app.ts';
import { browserPolicy } from '../../interfaces/http/browser-guard.ts';
import { keyAuthenticator, openAuthenticator } from '../../interfaces/http/callers.ts';
import type { HttpDeps } from '../../interfaces/http/deps.ts';
import type { Limiter } from '../../interfaces/http/rate-limit.ts';
import type { Protocol } from '../../interfaces/protocol.ts';
import { GOING_AWAY, parseTarget, REFUSED } from '../../interfaces/ws/protocol.ts';
import { a2aProtocol, mcpProtocol } from '../serve/protocols.ts';
import type { SocketState } from './channel-readers.ts';
import { type RelayObject, SOCKET_STATE_HEADER } from './relay-object.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';
import { CallBudget, log, noteStorage, openWorkerCore, protocolOptions, version } from './worker-core.ts';

export { RelayObject } from './relay-object.ts';

import { type DashboardFiles, typeOfFile } from '../../interfaces/http/dashboard.ts';

/** State of the current request. */
interface RequestState {
  readonly request: Request;
  readonly core: RelayCore;
  readonly bindings: RelayBindings;
  readonly budget: CallBudget;
}

type RelayStub = Stub<RelayObject>;

/** Maximum number of sweep requests per minute. The cron job of the next minute continues the sweep. */
const SWEEP_ROUNDS = 20;
/** Maximum number of tasks per minute whose webhook deliveries are continued, each in its own request. */
const RESUMED_AT_ONCE = 20;

const requestState = new AsyncLocalStorage<RequestState>();
const current = () => requestState.getStore()!;

let app: ReturnType<typeof createHttpApp> | null = null;

export default {
  async fetch(request: Request, bindings: RelayBindings): Promise<Response> {
    const budget = new CallBudget(bindings.STORE, workerConfig(bindings).calls);
    const core = openWorkerCore(bindings, budget.objects);
    app ??= createHttpApp(httpDeps(bindings), [
      perRequest(mcpProtocol, core, bindings),
      perRequest(a2aProtocol, core, bindings),
    ]);
    const answer = app;
    return requestState.run({ request, core, bindings, budget }, () => answer(request, request));
  },

  /**
   * Runs every minute. Does not delete expired rows or trim channels: the objects do this in their own
   * alarms.
   */
  async scheduled(_: ScheduledController, bindings: RelayBindings, context: ExecutionContext): Promise<void> {
    const core = openWorkerCore(bindings);
    context.waitUntil(sweepEnded(bindings));
    noteStorage(core);
    context.waitUntil(resumeWebhooks(core, bindings));
  },
};

/**
 * Sweeps ended items. Each round is a separate request to an object, because one request may make only few
 * calls.
 */
async function sweepEnded({ STORE }: RelayBindings): Promise<void> {
  const object = STORE.get(STORE.idFromName(objectOf('sys/tidying'))) as RelayStub;
  for (let round = 0; round < SWEEP_ROUNDS && !(await object.tidySome()); round++);
}

/**
 * Continues webhook deliveries of up to `RESUMED_AT_ONCE` tasks. If there are more tasks, each minute
 * handles different ones.
 */
async function resumeWebhooks({ deps }: RelayCore, { STORE }: RelayBindings): Promise<void> {
  const tasks = await Array.fromAsync(outboxEntries(deps));
  const first = Math.floor(deps.env.now() / 60_000) * RESUMED_AT_ONCE;
  const some = Array.from(
    { length: Math.min(tasks.length, RESUMED_AT_ONCE) },
    (_, i) => tasks[(first + i) % tasks.length]!,
  );
  const objectOfTask = (task: string) => STORE.get(STORE.idFromName(objectOf(`ptr.${task}`))) as RelayStub;
  await Promise.allSettled(some.map((entry) => objectOfTask(entry.task).resume(entry)));
}

function httpDeps(bindings: RelayBindings): HttpDeps {
  const config = workerConfig(bindings);
  return {
    get core() {
      return current().core;
    },
    version,
    publicUrl: config.publicUrl,
    browsers: browserPolicy({ ...config, anyAddress: false }),
    dashboard: bindings.ASSETS && workerPages(bindings.ASSETS),
    authenticate,
    // The platform sets this header and overwrites it if a client sends it.
    peerOf: (request) => (request as Request).headers.get('cf-connecting-ip'),
    headerOf: (request, name) => (request as Request).headers.get(name),
    jsonArtifactBytes: WORKER_JSON_ARTIFACT_BYTES,
    trustsProxies: false,
    isTrustedProxy: () => false,
    // A Worker gets no stop signal. Its streams end when the client disconnects or when few calls are left.
    get stopping() {
      const { request, budget } = current();
      return AbortSignal.any([request.signal, budget.spent]);
    },
    ...(config.auth === 'keys' ? { limiter } : {}),
    log,
    socket,
  };
}

async function authenticate(authorization: string | null): Promise<Caller> {
  const { core, bindings } = current();
  if (workerConfig(bindings).auth === 'open') return openAuthenticator(core.keys)(authorization);
  const admin = bindings.RELAY_ADMIN_KEY;
  if (admin && equalInConstantTime(authorization ?? '', `Bearer ${admin}`)) return LOCAL_CALLER;
  return keyAuthenticator(core.keys)(authorization);
}

/**
 * Rate limiter in the Durable Object of the tenant or address, so all machines of the platform share one
 * limit.
 */
const limiter: Limiter = {
  async check(caller, address) {
    const seconds = await limiterObject(caller, address).wait(caller, address);
    if (seconds > 0) throw new RelayError('rate_limited', { seconds: Math.ceil(seconds) });
  },
  charge(caller, address, bytes) {
    waitUntil(limiterObject(caller, address).charge(caller, address, bytes));
  },
};

function limiterObject(caller: Caller | null, address: string): RelayStub {
  const { STORE } = current().bindings;
  const name = caller === null || isAnonymous(caller) ? `adr.${address}` : `ten.${caller.tenant}/`;
  return STORE.get(STORE.idFromName(objectOf(name))) as RelayStub;
}

/** Authorizes a WebSocket request and passes it to the channel's Durable Object. */
async function socket(c: Context, base: string): Promise<Response> {
  const { request, core, bindings } = current();
  const { pathname, search } = new URL(request.url);
  const target = parseTarget(pathname + search);
  if (!target) throw new RelayError('no_route', { method: 'GET', path: pathname.slice(0, 200) });
  const caller = core.actingAs(await socketCaller(request, core, target.ticket), target.agent);
  const { channel, group, since, prefetch } = target;
  authorize(caller, channels.subscribe, { name: channel });
  if (await core.channels.isPattern(caller, channel, target))
    return patternSocket(caller, channel, since, base);
  const stream = channelStream(caller.tenant, channel);
  const start =
    group === undefined
      ? await core.channels.start(caller.tenant, channel, since)
      : { after: 0, gap: false, lenient: false };
  const resumes = since !== undefined;
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
    resumes,
  };
  const headers = { Upgrade: 'websocket', [SOCKET_STATE_HEADER]: encodeURIComponent(JSON.stringify(state)) };
  const object = bindings.STORE.get(bindings.STORE.idFromName(objectOf(stream)));
  return object.fetch(new Request(c.req.url, { headers }));
}

/**
 * Serves a subscription with wildcards in the Worker itself, because its channels are in several objects. The
 * stream ends when few calls are left, and the client then reconnects.
 */
function patternSocket(caller: Caller, pattern: string, since: Since | undefined, base: string): Response {
  const { core, budget } = current();
  const { 0: client, 1: server } = new WebSocketPair();
  const closed = new AbortController();
  server.accept();
  server.addEventListener('close', () => closed.abort());
  const signal = AbortSignal.any([closed.signal, budget.spent]);
  const messages = core
    .relay(caller, base)
    .channels.subscribe(pattern, { since: since ?? core.deps.env.now(), signal });
  const serve = async () => {
    try {
      for await (const message of messages) server.send(JSON.stringify(message));
      server.close(GOING_AWAY, 'reconnect');
    } catch (error) {
      server.send(JSON.stringify(toRelayError(error)));
      server.close(REFUSED, 'refused');
    }
  };
  // Sending fails if the client has closed the socket. Ignore the error, because nobody waits for the messages any
  // more.
  waitUntil(serve().catch(() => {}));
  return new Response(null, { status: 101, webSocket: client } as ResponseInit);
}

async function socketCaller(request: Request, core: RelayCore, ticket: string | undefined): Promise<Caller> {
  if (ticket === undefined) return authenticate(request.headers.get('authorization'));
  const caller = await core.channels.redeem(ticket);
  if (caller && (await core.keys.isValid(caller))) return caller;
  throw new RelayError('unauthorized', {
    hint: 'A ticket works once, within 30 seconds. Request another one.',
  });
}

/** Creates a protocol that builds a new handler for every request, because a handler uses the core of its request. */
function perRequest(
  make: (o: ReturnType<typeof protocolOptions>, stopping: AbortSignal) => Protocol,
  core: RelayCore,
  bindings: RelayBindings,
): Protocol {
  const create = () => make(protocolOptions(current().core, bindings), current().budget.spent);
  return {
    routes: make(protocolOptions(core, bindings), new AbortController().signal).routes,
    answer: (...request) => create().answer(...request),
  };
}

/**
 * Reads the dashboard from the platform's static assets, which do not count towards the size of the Worker.
 * The Worker runs before the assets, so responses have the relay's headers. The platform compresses the
 * responses.
 */
export function workerPages(assets: NonNullable<RelayBindings['ASSETS']>): DashboardFiles {
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
