import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { bundleWorker, COMPATIBILITY } from '../../scripts/cloudflare/bundle.ts';
import { openWorkerd, workerOptions } from '../../scripts/cloudflare/local-worker.ts';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { toBase64 } from '../../src/base/base64.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { MAX_TTL_MS } from '../../src/base/limits.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import type { PlanTable } from '../../src/domain/usage/plans.ts';
import type { LogEvent } from '../../src/interfaces/http/deps.ts';
import type { Engine, SweepResult } from '../../src/kernel/engine.ts';
import { closeAtTheEnd } from '../close-at-the-end.ts';
import type { RelayOptions, RelayUnderTest } from '../http/relay-options.ts';
import { startControlledPlatform } from './controlled-platform.ts';
import { engineOver, sumOf } from './engine-over-http.ts';
import type { Chance, Step } from './step.ts';

/** Folder with the output of `bundleUnderTest`. Set if many test files run, so that the Worker is bundled once. */
const BUNDLE = process.env.RELAY_TEST_WORKER;

const unsafeModule: Plugin = {
  name: 'unsafe-module',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^workerd:unsafe$/ }, ({ path }) => ({ path, external: true })),
};

/** Bundles the Worker with the controls for tests. */
export function bundleUnderTest(): ReturnType<typeof bundleWorker> {
  const entry = join(import.meta.dirname, 'worker-under-test.ts');
  return bundleWorker({ entry, version: 'test', plugins: [unsafeModule] });
}

let bundle: ReturnType<typeof bundleWorker> | null = null;
function bundled() {
  bundle ??= BUNDLE
    ? Promise.resolve({
        script: readFileSync(join(BUNDLE, 'worker.js'), 'utf8'),
        table: readFileSync(join(BUNDLE, 'o200k.bin')),
      })
    : bundleUnderTest();
  return bundle;
}

export type WorkerHost = Awaited<ReturnType<typeof hostWorker>>;

/** Worker of each engine. Another server on the same engine uses the same Worker. */
const hosts = new WeakMap<Engine, WorkerHost>();

/**
 * Starts workerd with the Worker under test, which uses the clock of the test. Returns an engine in this process that
 * uses the Worker's objects and bucket.
 */
export async function hostWorker(o: {
  readonly vars?: { readonly [name: string]: string };
  readonly pages?: string;
  readonly env: Env;
  step(): Step;
  chance?(): Chance;
  readonly evicts?: boolean;
  /** Folder with stored data. By default the data is in memory. */
  readonly home?: string;
}) {
  const log: LogEvent[] = [];
  const workerd = await openWorkerd({
    ...workerOptions(await bundled(), { vars: o.vars ?? {}, pages: o.pages }),
    compatibilityFlags: [...COMPATIBILITY.flags, 'unsafe_module'],
    ...(o.home ? { defaultPersistRoot: o.home } : {}),
    structuredWorkerdLogs: true,
    handleStructuredLogs: ({ message }: { message: string }) => {
      if (!message.startsWith('NOSENTRY')) log.push(eventIn(message));
    },
  });
  const evicts = o.evicts ?? process.env.RELAY_TEST_EVICTS === '1';
  const worker = (await workerd.ready).href.replace(/\/$/, '');
  const platformBy = (clock: { step(): Step; chance?(): Chance }) =>
    startControlledPlatform(worker, { ...clock, evicts });
  const platform = await platformBy(o);
  const engine = engineOver(platform.control, o.env, { keys: o.vars?.RELAY_OPEN === 'false' });
  let disposed: Promise<void> | null = null;
  const host = {
    platform,
    platformBy,
    engine,
    log,
    dispose() {
      disposed ??= platform.stop().then(() => workerd.dispose());
      return disposed;
    },
  };
  hosts.set(engine, host);
  closeAtTheEnd({ [Symbol.asyncDispose]: host.dispose });
  return host;
}

/** Starts a relay as a Worker for tests written for a server. Returns null if the test needs options that only a server has. */
export async function startOnWorker(o: RelayOptions): Promise<RelayUnderTest | null> {
  const vars = varsOf(o);
  if (vars === null) return null;
  let shift = 0;
  const source = o.env ?? systemEnv;
  const env: Env = { ...source, now: () => source.now() + shift };
  const step = () => (o.env ? { shift, now: env.now() } : { shift });
  const chance = o.env && (() => drawnAhead(o.env!));
  const given = await o.open?.(env);
  const known = given && hosts.get(given);
  if (given && !known) return null;
  const pages = (o.server?.dashboard as { folder?: string } | undefined)?.folder;
  const host = known ?? (await hostWorker({ vars, pages, env, step, chance }));
  const { engine, log } = host;
  // Another server on the same engine has its own port and is stopped separately.
  const platform = known ? await host.platformBy({ step, chance }) : host.platform;
  const core = new CoreBesideWorker({ engine, env, texts: ownTextWork }, o.core);
  core.tidy = () => platform.control('tidy');
  return {
    url: platform.url,
    core,
    engine,
    log,
    advance(ms) {
      shift += ms;
      platform.moved();
    },
    async settle() {
      await core.background.settle();
      await platform.control('settle');
    },
    stop: async () => {
      await core.close();
      await platform.stop();
    },
    async [Symbol.asyncDispose]() {
      await core.close();
      await platform.stop();
      if (!known) await host.dispose();
    },
  };
}

/** A core for the test, whose sweep runs in the objects. */
class CoreBesideWorker extends RelayCore {
  tidy: () => Promise<unknown> = async () => [];

  override async sweepStore() {
    await this.keyUse.flush();
    await this.noteStorage();
    return sumOf((await this.tidy()) as SweepResult[]);
  }
}

/** Converts the options of a test to variables of the Worker. Returns null if an option has no variable. */
function varsOf({ core = {}, server = {}, texts }: RelayOptions): { [name: string]: string } | null {
  const { auth: _, plans, defaultPlan, channels = {}, ...otherCore } = core;
  const {
    auth,
    publicUrl,
    allowedHosts,
    corsOrigins,
    rateLimits,
    dashboard,
    loopbackWebhooks,
    ...otherServer
  } = server;
  const { retentionMs, messages, leaseMs, ...otherChannels } = channels;
  const others = [otherCore, otherServer, otherChannels].some((rest) => Object.keys(rest).length > 0);
  const seconds = [retentionMs, leaseMs].every((ms) => ms === undefined || ms % 1000 === 0);
  const planned = Object.values(plans ?? {}).every(({ ttlMs }) => ttlMs <= MAX_TTL_MS);
  if (others || texts || !seconds || !planned || (rateLimits && 'burst' in rateLimits)) return null;
  if (dashboard && !('folder' in dashboard)) return null;
  const vars = {
    RELAY_OPEN: String(auth !== 'keys'),
    RELAY_PUBLIC_URL: publicUrl,
    // Same default as for a server on loopback.
    RELAY_ALLOWED_HOSTS: allowedHosts?.join(',') ?? '127.0.0.1',
    RELAY_CORS_ORIGINS: corsOrigins?.join(','),
    RELAY_PLANS: plans && JSON.stringify(writtenPlans(plans)),
    RELAY_DEFAULT_PLAN: defaultPlan,
    RELAY_CHANNEL_RETENTION: retentionMs && retentionMs / 1000,
    RELAY_CHANNEL_MESSAGES: messages,
    RELAY_GROUP_LEASE: leaseMs && leaseMs / 1000,
    RELAY_RATE_LIMIT_KEY: rateLimits?.perKey ?? 0,
    RELAY_RATE_LIMIT_ADDRESS: rateLimits?.perAddress ?? 0,
    RELAY_RATE_LIMIT_TENANT: rateLimits?.perTenant ?? 0,
  };
  const said = Object.entries(vars).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(said.map(([name, value]) => [name, String(value)]));
}

function writtenPlans(plans: PlanTable): object {
  return Object.fromEntries(
    Object.entries(plans).map(([name, { payloadBytes, ttlMs, storageBytes, ...same }]) => [
      name,
      { ...same, payload_bytes: payloadBytes, ttl_seconds: ttlMs / 1000, storage_bytes: storageBytes },
    ]),
  );
}

/** Number of random values per length that are sent with a request. No request needs more. */
const DRAWS = 12;
const LENGTHS = [1, 4, 6, 7, 8, 16, 24, 32];

function drawnAhead(env: Env): Chance {
  return Object.fromEntries(
    LENGTHS.map((length) => [length, Array.from({ length: DRAWS }, () => toBase64(env.randomBytes(length)))]),
  );
}

function eventIn(message: string): LogEvent {
  try {
    return JSON.parse(message);
  } catch {
    return { level: 'error', event: 'console', message };
  }
}
