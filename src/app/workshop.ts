import { systemEnv } from '../base/env.ts';
import { RelayError } from '../base/errors.ts';
import { LOCAL_CALLER } from '../domain/caller.ts';
import { Pipelines } from '../domain/pipelines/pipelines.ts';
import { Prompts } from '../domain/prompts/prompts.ts';
import type { ThreadsAs } from '../domain/prompts/types.ts';
import type { ThreadsApi } from '../domain/threads/api.ts';
import { bindThreads, ThreadHouse } from '../domain/threads/thread-house.ts';
import type { Workshop } from '../interfaces/cli/workshop.ts';
import { installedClis } from '../runners/cli/find-program.ts';
import { openModel } from '../runners/provider/provider.ts';
import { answerCache } from './answer-cache.ts';
import type { Config, Environment } from './config.ts';
import { openHouse } from './open-house.ts';
import { stepRunners } from './step-runners.ts';
import { ownTokenCounter } from './token-counter.ts';
import { programs } from './wrapped-program.ts';

/** Prompts and pipelines on the local store. Models and programs are asked from here, wherever the threads are. */
export async function openWorkshop(config: Config, env: Environment, cwd: string): Promise<Workshop> {
  if (config.remote !== null) {
    throw new RelayError('bad_usage', {
      what: 'Prompts and pipelines work on the local store.',
      hint: 'Leave --url out, and unset CONTEXTRELAY_URL.',
    });
  }
  const { house, ...open } = await openHouse(config, 'cli');
  const { engine } = house.ground;
  const threadHouse = new ThreadHouse(house.ground);
  const bound = new Map<string, ThreadsApi>();
  const threads: ThreadsAs = (who) => {
    let api = bound.get(who);
    if (!api) {
      api = bindThreads(threadHouse, { ...LOCAL_CALLER, name: who });
      bound.set(who, api);
    }
    return api;
  };
  const cache = answerCache(engine, LOCAL_CALLER.tenant, systemEnv);
  const prompts = new Prompts({ threads, tokens: ownTokenCounter, env: systemEnv, cache });
  const model: Workshop['model'] = (choice) => openModel(choice, env, installedClis(env));
  const runners = stepRunners({
    prompts,
    model,
    env,
    cwd,
    threads: threads('pipeline'),
    invoke: (input) => threadHouse.capabilities.invoke(LOCAL_CALLER, input),
  });
  return {
    threads: threads(LOCAL_CALLER.name),
    prompts,
    pipelines: new Pipelines({ threads, env: systemEnv, cache, runners, pause }),
    model,
    programs: programs(env, cwd),
    [Symbol.asyncDispose]: async () => {
      await threadHouse.settle();
      await open[Symbol.asyncDispose]();
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
