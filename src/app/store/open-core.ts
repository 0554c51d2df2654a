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
  /** True if the relay requires no key and other machines can reach it. */
  readonly exposed?: boolean;
  readonly warn?: Warn;
  readonly projects?: ProjectSource;
}

/** A server answers first and writes a thread's files once for all commits within this time. */
const SERVER_REST_MS = 25;

/** A server that just started waits this long before it indexes what is left. */
const RESUME_MS = 2_000;

/** Called with a full sentence about a problem that does not stop the operation. */
export type Warn = (what: string) => void;

/**
 * Opens the domain on the store of a home, with all it needs, and closes everything when disposed. A command with the
 * role `agents` runs agents meanwhile, so it processes texts in worker threads, as a server does.
 */
export async function openCore(
  config: Config,
  role: 'server' | 'cli' | 'agents',
  o: CoreOptions = {},
): Promise<OpenCore> {
  const { auth = config.auth ?? 'open', warn = () => {} } = o;
  const { home, channels, plans, default_plan: defaultPlan } = config;
  makeHome(home);
  // A server maintains its database while it runs; a command ends too soon for that.
  const engineRole = role === 'server' ? 'server' : 'cli';
  const env = systemEnv;
  const workers = role === 'cli' ? null : new (await import('./text-workers.ts')).TextWorkers();
  const opened = await openEngine(config, engineRole, env, warn, {
    indexThreads: workers ? (job, asked) => workers.index(job, asked) : undefined,
  });
  const { engine, readableFiles } = opened;
  const texts = workers ?? ownTextWork;
  const capabilities = async () => (await import('./load-capabilities.ts')).loadCapabilities(config, warn);
  const restMs = role === 'server' ? SERVER_REST_MS : 0;
  const onThreads = readableFiles
    ? (threads: ThreadServices) => mirrorThreads(readableFiles, threads, warn, restMs)
    : undefined;
  const core = new RelayCore(
    // Without a server, only the command itself can index what it stores, so it waits for that.
    { engine, env, texts, capabilities, indexWaitMs: role === 'cli' ? Number.POSITIVE_INFINITY : undefined },
    { channels, auth, exposed: o.exposed, plans, defaultPlan, onThreads, projects: o.projects },
  );
  if (role === 'server')
    engine.defer(async () => (await core.threads()).log.index.resume(LOCAL_CALLER.tenant), RESUME_MS);
  if (readableFiles && hasStale(home)) core.background.run(() => core.threads());
  return {
    ...opened,
    core,
    [Symbol.asyncDispose]: async () => {
      try {
        await core.close();
      } finally {
        await workers?.[Symbol.asyncDispose]();
        await engine[Symbol.asyncDispose]();
      }
    },
  };
}

/** Keeps the readable files of threads up to date and repairs what an earlier process left outdated. */
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
