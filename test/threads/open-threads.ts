import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { type Caller, LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { ThreadsApi } from '../../src/contract/threads.ts';
import { ActivityLog } from '../../src/domain/activity/activity-log.ts';
import { relayBinder, type Services } from '../../src/domain/relay-binding.ts';
import type { TextWork } from '../../src/domain/text-work.ts';
import { Capabilities } from '../../src/domain/threads/capabilities/capabilities.ts';
import type { Capability } from '../../src/domain/threads/capabilities/capability.ts';
import { ThreadServices } from '../../src/domain/threads/thread-services.ts';
import { Storage } from '../../src/domain/usage/storage.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { openUnderTest } from '../engine-under-test.ts';

export const realCounter = ownTextWork;

export interface OpenThreads {
  readonly engine: Engine;
  readonly core: ThreadServices;
  readonly capabilities: Capabilities;
  readonly api: ThreadsApi;
  as(name: string, tenant?: string): ThreadsApi;
  /** Simulates another process on the same store. */
  again(): OpenThreads;
}

export function openThreads(
  o: { engine?: Engine; env?: Env; capabilities?: readonly Capability[]; texts?: TextWork } = {},
): OpenThreads {
  const env = o.env ?? systemEnv;
  const engine = o.engine ?? openUnderTest(env);
  // Activity has its own engine and random numbers, so that the tests' engine contains only data of threads.
  const apart = { now: () => env.now(), randomBytes: systemEnv.randomBytes };
  const activity = new ActivityLog({ engine: openUnderTest(apart), env: apart });
  const deps = { engine, env, texts: o.texts ?? realCounter, activity };
  const core = new ThreadServices(deps, new Storage(deps));
  const bind = relayBinder({ threads: core.verbs } as unknown as Services);
  const as = (name: string, tenant = 'local') => bind(caller(name, tenant), '').threads;
  return {
    engine,
    core,
    capabilities: new Capabilities(core.log, o.capabilities),
    api: bind(LOCAL_CALLER, '').threads,
    as,
    again: () => openThreads({ ...o, engine }),
  };
}

export function caller(name: string, tenant = 'local'): Caller {
  return { ...LOCAL_CALLER, name, tenant };
}

export function text(content: string): Uint8Array {
  return new TextEncoder().encode(content);
}

/** A clock that stands still until a test advances it. */
export function stoppedClock(start = Date.UTC(2026, 0, 1)): Env & { advance(ms: number): void } {
  let now = start;
  return {
    now: () => now,
    randomBytes: systemEnv.randomBytes,
    advance: (ms) => {
      now += ms;
    },
  };
}
