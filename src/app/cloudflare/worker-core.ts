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
 * How long requests note what is written behind in the same place. A request that is broken off while it writes for others leaves that
 * place stuck, so it is not kept for good.
 */
const SHARED_MS = 60_000;

/** Each takes two calls, of 50 that a request may make. */
const NOTED_AT_ONCE = 8;

let shared: { readonly by: unknown; readonly until: number; readonly core: RelayCore } | null = null;

/**
 * The domain for one request: nothing of it that a request waits for outlives the request, since what one waits for may end with
 * another on this platform. What nobody waits for is noted together by the requests of an isolate.
 */
export function openWorkerCore(bindings: RelayBindings, objects = bindings.STORE): RelayCore {
  const before = shared;
  const core = coreOf(bindings, objects, sharedBy(bindings));
  // Only this isolate knows who was active in it: what a server notes every minute is noted with the first request of the next one.
  if (before?.by === bindings.STORE && before !== shared) noteStorage(core, before.core);
  return core;
}

/** For the figures, of those who were active in this isolate. */
export function noteStorage(core: RelayCore, { deps } = shared!.core): void {
  core.deps.engine.defer(() => core.noteStorage(deps.activity, NOTED_AT_ONCE));
}

/** The domain for an object, which lives as long as that. */
export function openObjectCore(bindings: RelayBindings): RelayCore {
  return coreOf(bindings);
}

function coreOf(bindings: RelayBindings, objects = bindings.STORE, writesBehind?: RelayCore): RelayCore {
  const engine = engineOf({ ...bindings, STORE: objects });
  const recount = (tenant: string) => recountBy(objects, tenant);
  const { core, textBytes } = workerConfig(bindings);
  const texts = workerTextWork(textBytes);
  return new RelayCore({ engine, env: systemEnv, texts }, { ...core, writesBehind, recount });
}

/** The object of the tenant does it: a request may make too few calls for it. */
function recountBy(objects: RelayBindings['STORE'], tenant: string): Promise<void> {
  const object: unknown = objects.get(objects.idFromName(objectOf(`ten.${tenant}/`)));
  return (object as { recount(tenant: string): Promise<void> }).recount(tenant);
}

function sharedBy(bindings: RelayBindings): RelayCore {
  const now = Date.now();
  if (shared?.by === bindings.STORE && shared.until > now && shared.until <= now + SHARED_MS)
    return shared.core;
  const core = coreOf(bindings);
  shared = { by: bindings.STORE, until: now + SHARED_MS, core };
  return core;
}

function engineOf({ STORE, BODIES }: RelayBindings) {
  return openCloudflare({ objects: STORE, bucket: BODIES, crc32, waitUntil });
}

declare const RELAY_VERSION: string;

export const version = RELAY_VERSION;

export function protocolOptions(core: RelayCore, bindings: RelayBindings) {
  const { auth } = workerConfig(bindings);
  return { core, version, auth, messageBytes: WORKER_MESSAGE_BYTES, webhooks, log };
}

/** A Worker has no network of its own that a webhook could be in. */
const webhooks = async (): Promise<WebhookPost> => ({
  async check(text) {
    if (!URL.canParse(text)) throw new Error('that is no URL');
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

/** What a request keeps for its end, and for what it writes behind its answer. */
const KEPT_CALLS = 10;

/** Counts the calls that a request makes to objects; what could go on for long is to end while some are left. */
export class CallBudget {
  readonly objects: Objects;
  readonly #most: number;
  #calls = 0;
  #spent: AbortController | undefined;

  /** `calls`: what the platform lets a request make. */
  constructor(all: Objects, calls: number) {
    this.#most = calls - KEPT_CALLS;
    this.objects = {
      idFromName: (name) => all.idFromName(name),
      // Whoever asks for an object calls it once.
      get: (id) => {
        if (++this.#calls >= this.#most) this.#spent?.abort();
        return all.get(id);
      },
    };
  }

  /** Fires when few are left. Made when it is first asked for: most requests end by themselves. */
  get spent(): AbortSignal {
    this.#spent ??= new AbortController();
    if (this.#calls >= this.#most) this.#spent.abort();
    return this.#spent.signal;
  }
}
