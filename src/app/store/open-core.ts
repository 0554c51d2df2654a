import { systemEnv } from '../../base/env.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { ProjectSource } from '../../domain/projects/projects.ts';
import { RelayCore } from '../../domain/relay-core.ts';
import type { ThreadServices } from '../../domain/threads/thread-services.ts';
import type { Config } from '../config.ts';
import { makeHome } from './home.ts';
import { type OpenedEngine, openEngine, type ReadableFiles } from './open-engine.ts';
import { ownTextWork } from './own-text-work.ts';
import { hasStale } from './stale-marks.ts';

export interface OpenCore extends AsyncDisposable, OpenedEngine {
  readonly core: RelayCore;
}

export interface CoreOptions {
  readonly auth?: 'open' | 'keys';
  /** True if the relay requires no API key although other machines can reach it. */
  readonly exposed?: boolean;
  readonly warn?: Warn;
  readonly projects?: ProjectSource;
}

/**
 * Time in ms for which a server collects commits of a thread before it writes the readable files of the thread.
 * Answers to clients do not wait for these files.
 */
const SERVER_REST_MS = 25;

/** Time in ms after the start at which a server indexes artifacts that earlier processes left unindexed. */
const RESUME_MS = 2_000;

/** Called with a full sentence about a problem that does not stop the operation. */
export type Warn = (what: string) => void;

/**
 * Opens the domain on the store of a home. Disposing the result closes everything. The role `agents` is for a
 * command that runs agents while the store is open: like a server, it processes texts in worker threads.
 */
export async function openCore(
  config: Config,
  role: 'server' | 'cli' | 'agents',
  o: CoreOptions = {},
): Promise<OpenCore> {
  const { auth = config.auth ?? 'open', warn = () => {} } = o;
  const { home, channels, plans, default_plan: defaultPlan } = config;
  makeHome(home);
  // Only a server maintains the database: a command ends too soon.
  const engineRole = role === 'server' ? 'server' : 'cli';
  const env = systemEnv;
  const workers = role === 'cli' ? null : new (await import('./text-workers.ts')).TextWorkers();
  const opened = await openEngine(config, engineRole, env, warn, {
    indexThreads: workers ? (job, options) => workers.index(job, options) : undefined,
  });
  const { engine, readableFiles } = opened;
  const texts = workers ?? ownTextWork;
  const capabilities = async () => (await import('./load-capabilities.ts')).loadCapabilities(config, warn);
  const restMs = role === 'server' ? SERVER_REST_MS : 0;
  const onThreads = readableFiles
    ? (threads: ThreadServices) => mirrorThreads(readableFiles, threads, warn, restMs)
    : undefined;
  const core = new RelayCore(
    // A command waits until its artifacts are indexed, because there may be no server to do it.
    { engine, env, texts, capabilities, indexWaitMs: role === 'cli' ? Number.POSITIVE_INFINITY : undefined },
    {
      channels,
      releasesDelayed: role !== 'server',
      auth,
      exposed: o.exposed,
      plans,
      defaultPlan,
      onThreads,
      projects: o.projects,
      prices: config.prices,
    },
  );
  if (role === 'server')
    engine.defer(async () => (await core.threads()).log.index.resume(LOCAL_CALLER.tenant), RESUME_MS);
  if (readableFiles && hasStale(home)) core.background.run(() => core.threads());
  return {
    ...opened,
    core,
    [Symbol.asyncDispose]: async () => {
      try {
        // All acknowledged data is on disk. The last writes, statistics and background work, need no fsync.
        opened.stopSyncing?.();
        await core.close();
      } finally {
        await workers?.[Symbol.asyncDispose]();
        await engine[Symbol.asyncDispose]();
      }
    },
  };
}

/** Keeps the readable files of threads up to date, including files that an earlier process left outdated. */
async function mirrorThreads(
  legible: ReadableFiles,
  threads: ThreadServices,
  warn: Warn,
  restMs: number,
): Promise<void> {
  const { Mirror } = await import('./mirror.ts');
  const mirror = new Mirror(legible, threads, warn, restMs);
  if (hasStale(legible.home)) threads.log.background.run(() => mirror.heal());
}
