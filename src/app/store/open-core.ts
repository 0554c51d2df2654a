import { systemEnv } from '../../base/env.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import { RelayCore } from '../../domain/relay-core.ts';
import type { ThreadServices } from '../../domain/threads/thread-services.ts';
import type { LocalStore } from '../../interfaces/cli/host.ts';
import type { Config } from '../config.ts';
import { openEngine } from './open-engine.ts';
import { hasStale } from './stale-marks.ts';
import { ownTokenCounter, ThreadTokenCounter } from './token-counter.ts';

export interface OpenCore extends AsyncDisposable {
  readonly core: RelayCore;
}

/** Housekeeping of the store: of what engine and domain keep alike. */
export async function openStore(config: Config): Promise<LocalStore> {
  const { core, ...open } = await openCore(config, 'cli');
  return {
    sweep: () => core.tidy([LOCAL_CALLER.tenant]),
    usage: () => core.deps.engine.usage(),
    [Symbol.asyncDispose]: open[Symbol.asyncDispose],
  };
}

/**
 * The domain on the store of a home, with everything it needs; closes all of it when disposed. A workshop is a command
 * that has better things to do while tokens are counted, so it counts beside.
 */
export async function openCore(
  config: Config,
  role: 'server' | 'cli' | 'workshop',
  auth: 'open' | 'keys' = config.server.auth ?? 'open',
): Promise<OpenCore> {
  const engine = await openEngine(config, role === 'server' ? 'server' : 'cli');
  const thread = role === 'cli' ? null : new ThreadTokenCounter();
  const tokens: TokenCounter = thread ?? ownTokenCounter;
  const capabilities = async () => (await import('./load-capabilities.ts')).loadCapabilities(config);
  const { channels } = config;
  const { plans, defaultPlan } = config.server;
  const onThreads = (threads: ThreadServices) => keepLegible(config.home, threads);
  const core = new RelayCore(
    { engine, env: systemEnv, tokens, capabilities },
    { channels, auth, plans, defaultPlan, onThreads },
  );
  if (hasStale(config.home)) core.background.run(() => core.threads());
  return {
    core,
    [Symbol.asyncDispose]: async () => {
      await core.close();
      await thread?.[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

/** The files of threads follow, from the first moment on; what an earlier process left stale is made up for. */
async function keepLegible(home: string, threads: ThreadServices): Promise<void> {
  const { Mirror } = await import('./mirror.ts');
  const mirror = new Mirror(home, threads);
  if (hasStale(home)) threads.log.background.run(() => mirror.heal());
}
