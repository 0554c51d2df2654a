import { waitUntil } from 'cloudflare:workers';
import { crc32 } from 'node:zlib';
import { systemEnv } from '../../base/env.ts';
import { WEBHOOK_TIME_MS, WORKER_MESSAGE_BYTES } from '../../base/limits.ts';
import { RelayCore } from '../../domain/relay-core.ts';
import { openCloudflare } from '../../engines/cloudflare/engine.ts';
import { objectOf } from '../../engines/cloudflare/objects.ts';
import type { Objects } from '../../engines/cloudflare/store-object.ts';
import type { WebhookPost } from '../../interfaces/a2a/webhooks.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';
import { workerTextWork } from './worker-text-work.ts';

/**
 * Time in ms after which the shared core of an isolate is replaced. The requests of an isolate share this core
 * for write-behind. A request that is aborted during a shared write blocks the core, so the core is replaced
 * regularly.
 */
const SHARED_CORE_MS = 60_000;

/**
 * Maximum number of tenants whose storage one request records. Each tenant needs two of the 50 calls that a
 * request may make.
 */
const RECORDED_TENANTS = 8;

let shared: { readonly by: unknown; readonly until: number; readonly core: RelayCore } | null = null;

/**
 * Opens the domain for one request. On this platform, a promise that belongs to another request may never
 * settle. So requests share nothing that they await. They share only the write-behind queue, which no
 * request awaits.
 */
export function openWorkerCore(bindings: RelayBindings, objects = bindings.STORE): RelayCore {
  const before = shared;
  const core = openCore(bindings, objects, sharedCore(bindings));
  // The replaced core knows which tenants were active in this isolate. So the first request with a new shared core
  // records the storage of these tenants.
  if (before?.by === bindings.STORE && before !== shared) noteStorage(core, before.core);
  return core;
}

/** Records the storage of the tenants that were active in this isolate, for the usage figures. */
export function noteStorage(core: RelayCore, { deps } = shared!.core): void {
  core.deps.engine.defer(() => core.noteStorage(deps.activity, RECORDED_TENANTS));
}

/** Opens the domain for a Durable Object. */
export function openObjectCore(bindings: RelayBindings): RelayCore {
  return openCore(bindings);
}

function openCore(bindings: RelayBindings, objects = bindings.STORE, writesBehind?: RelayCore): RelayCore {
  const engine = openEngine({ ...bindings, STORE: objects });
  const recount = (tenant: string) => requestRecount(objects, tenant);
  const { core, textBytes } = workerConfig(bindings);
  const texts = workerTextWork(textBytes);
  return new RelayCore({ engine, env: systemEnv, texts }, { ...core, writesBehind, recount });
}

/** Asks the tenant's object for a recount, because a recount needs more calls than one request may make. */
function requestRecount(objects: RelayBindings['STORE'], tenant: string): Promise<void> {
  const object: unknown = objects.get(objects.idFromName(objectOf(`ten.${tenant}/`)));
  return (object as { recount(tenant: string): Promise<void> }).recount(tenant);
}

function sharedCore(bindings: RelayBindings): RelayCore {
  const now = Date.now();
  if (shared?.by === bindings.STORE && shared.until > now && shared.until <= now + SHARED_CORE_MS)
    return shared.core;
  const core = openCore(bindings);
  shared = { by: bindings.STORE, until: now + SHARED_CORE_MS, core };
  return core;
}

function openEngine({ STORE, BODIES }: RelayBindings) {
  return openCloudflare({ objects: STORE, bucket: BODIES, crc32, waitUntil });
}

declare const RELAY_VERSION: string;

export const version = RELAY_VERSION;

export function protocolOptions(core: RelayCore, bindings: RelayBindings) {
  const { auth } = workerConfig(bindings);
  return { core, version, auth, messageBytes: WORKER_MESSAGE_BYTES, webhooks, log };
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

export function log(event: LogEvent): void {
  console[event.level === 'info' ? 'log' : event.level](JSON.stringify(event));
}

/** Number of calls reserved for the end of a request and its write-behind. */
const RESERVED_CALLS = 10;

/** Counts the calls of a request to Durable Objects. Streams must end while some calls are left. */
export class CallBudget {
  readonly objects: Objects;
  readonly #limit: number;
  #calls = 0;
  #spent: AbortController | undefined;

  /** `calls` is the number of calls that the platform allows per request. */
  constructor(all: Objects, calls: number) {
    this.#limit = calls - RESERVED_CALLS;
    this.objects = {
      idFromName: (name) => all.idFromName(name),
      // A stub is used for exactly one call, so counting the stubs counts the calls.
      get: (id) => {
        if (++this.#calls >= this.#limit) this.#spent?.abort();
        return all.get(id);
      },
    };
  }

  /**
   * Signal that aborts when few calls are left. It is created on first use, because most requests do not
   * need it.
   */
  get spent(): AbortSignal {
    this.#spent ??= new AbortController();
    if (this.#calls >= this.#limit) this.#spent.abort();
    return this.#spent.signal;
  }
}
