import { systemEnv } from '../../base/env.ts';
import { pause } from '../../base/pause.ts';
import { Pipelines } from '../../client/pipelines/pipelines.ts';
import { Prompts } from '../../client/prompts/prompts.ts';
import type { ThreadsAs } from '../../client/prompts/types.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { OpenClient } from '../../interfaces/cli/host.ts';
import type { AgentWork } from '../../interfaces/cli/host-agents.ts';
import { installedClis } from '../../runners/cli/find-program.ts';
import { openModel } from '../../runners/provider/provider.ts';
import { HttpRelay } from '../../sdk/http-relay.ts';
import type { Config, Environment } from '../config.ts';
import { openCore } from '../store/open-core.ts';
import { openRelay } from '../store/open-relay.ts';
import { answerCache } from './answer-cache.ts';
import { pipelineWorker } from './pipeline-worker.ts';
import { stepRunners } from './step-runners.ts';
import { programs } from './wrapped-program.ts';

/**
 * Prompts and pipelines on the threads of a relay. Models and programs are asked from here, wherever the threads are, and
 * the answers kept for identical questions are kept here too.
 */
export async function openWorkshop(config: Config, env: Environment, cwd: string): Promise<AgentWork> {
  const { core, ...open } = await openCore(config, 'workshop');
  const relays = relaysOf(config, core);
  const threads: ThreadsAs = (who) => relays(who).threads;
  const { engine, tokens } = core.deps;
  const cache = answerCache(engine, LOCAL_CALLER.tenant, systemEnv);
  const prompts = new Prompts({ threads, tokens, env: systemEnv, cache });
  const model: AgentWork['model'] = (choice) => openModel(choice, env, installedClis(env), config.prompts);
  let client: Promise<OpenClient> | null = null;
  const openClient = () => {
    client ??= openRelay(config);
    return client;
  };
  const runners = stepRunners({ prompts, model, env, cwd, relay: relays('pipeline'), open: openClient });
  return {
    threads: threads(LOCAL_CALLER.name),
    prompts,
    pipelines: new Pipelines({
      threads,
      env: systemEnv,
      cache,
      runners,
      pause,
      worker: pipelineWorker(config),
    }),
    model,
    programs: programs(env, cwd),
    [Symbol.asyncDispose]: async () => {
      await (await client)?.[Symbol.asyncDispose]();
      await open[Symbol.asyncDispose]();
    },
  };
}

/** The relay as a named agent sees it. Behind HTTP the server says who it is, by the key that is sent. */
function relaysOf(config: Config, core: RelayCore): (who: string) => Relay {
  if (config.remote !== null) {
    const remote = new HttpRelay({ baseUrl: config.remote, apiKey: config.apiKey ?? undefined });
    return () => remote;
  }
  const bound = new Map<string, Relay>();
  return (who) => {
    let relay = bound.get(who);
    if (!relay) {
      relay = core.relay({ ...LOCAL_CALLER, name: who }, config.publicUrl);
      bound.set(who, relay);
    }
    return relay;
  };
}
