import { hostname, userInfo } from 'node:os';
import { type Env, systemEnv } from '../../base/env.ts';
import { pause } from '../../base/pause.ts';
import { Pipelines } from '../../client/pipelines/pipelines.ts';
import type { Worker } from '../../client/pipelines/run-lease.ts';
import type { AnswerCache, CachedAnswer } from '../../client/prompts/answer-cache.ts';
import { Prompts } from '../../client/prompts/prompts.ts';
import type { ThreadsAs } from '../../client/prompts/types.ts';
import { LOCAL_CALLER } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { StoreSecret } from '../../domain/store-secret.ts';
import type { AgentWork, OpenClient, Programs } from '../../interfaces/cli/host.ts';
import type { Records } from '../../kernel/records.ts';
import { commandLine } from '../../runners/cli/command-line.ts';
import { installedClis, PROFILES, profileOf } from '../../runners/cli/profiles.ts';
import { runProgram } from '../../runners/cli/run-program.ts';
import { promptFile } from '../../runners/prompt-file.ts';
import { openModel } from '../../runners/provider/provider.ts';
import { httpRelay } from '../../sdk/http-relay.ts';
import type { Config, Environment } from '../config.ts';
import { isAlive } from '../serve/pid-file.ts';
import { openCore, type Warn } from '../store/open-core.ts';
import { openRelay } from '../store/open-relay.ts';
import { stepRunners } from './step-runners.ts';

/**
 * Prompts and pipelines on the threads of a relay. Models and programs are asked from here, wherever the threads are, and
 * the answers kept for identical questions are kept here too.
 */
export async function openAgentWork(
  config: Config,
  env: Environment,
  cwd: string,
  warn?: Warn,
): Promise<AgentWork> {
  const { core, ...open } = await openCore(config, 'agents', { warn });
  const relays = relaysOf(config, core);
  const threads: ThreadsAs = (who) => relays(who).threads;
  const { engine, texts: tokens, env: storeEnv } = core.deps;
  const cache = answerCache(engine.records, storeEnv);
  const secret = new StoreSecret(core.deps);
  const frameSecret = () => secret.bytes();
  const prompts = new Prompts({ threads, tokens, env: systemEnv, cache, frameSecret });
  const model: AgentWork['model'] = (choice) => openModel(choice, env, installedClis(env), config.prompts);
  let client: Promise<OpenClient> | null = null;
  const openClient = () => {
    client ??= openRelay(config);
    return client;
  };
  const runners = stepRunners({
    prompts,
    tokens,
    model,
    env,
    cwd,
    frameSecret,
    relay: relays('pipeline'),
    open: openClient,
  });
  return {
    threads: threads(LOCAL_CALLER.name),
    prompts,
    pipelines: new Pipelines({
      threads,
      env: systemEnv,
      cache,
      frameSecret,
      runners,
      pause,
      worker: pipelineWorker(config.remote),
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
    const remote = httpRelay({ baseUrl: config.remote, apiKey: config.apiKey ?? undefined });
    return () => remote;
  }
  return (name) => core.relay({ ...LOCAL_CALLER, name }, config.publicUrl);
}

/** Answers by what was asked, in records that expire by themselves. */
function answerCache(records: Records, env: Env): AnswerCache {
  const key = (digest: string) => `ten.${LOCAL_CALLER.tenant}/answers/${digest}`;
  return {
    get: async (digest) => {
      const found = await records.get(key(digest));
      return (found?.value ?? null) as unknown as CachedAnswer | null;
    },
    put: async (digest, answer, ttlMs) => {
      await records.put(key(digest), { ...answer }, { expiresAt: env.now() + ttlMs });
    },
  };
}

/**
 * This process, as others are told of it. Of those at the same store on the same machine it can be seen whether they
 * live; a server is asked from many machines, of which two may have one name.
 */
function pipelineWorker(remote: string | null): Worker {
  const host = hostname();
  return {
    name: `${user()} on ${host}, process ${process.pid}`.slice(-200),
    lives: (name) => {
      const [, elsewhere, pid] = / on (.+), process (\d+)$/.exec(name) ?? [];
      if (remote !== null || elsewhere !== host) return null;
      return isAlive({ pid: Number(pid), birth: null });
    },
  };
}

function user(): string {
  try {
    return userInfo().username;
  } catch {
    // A process may run under a number that has no name.
    return 'somebody';
  }
}

/** Other people's programs, run as if they had been started by themselves. */
function programs(env: Environment, cwd: string): Programs {
  return {
    known: () => {
      const here = installedClis(env);
      const entries = Object.entries(PROFILES);
      return entries.map(([name, { about }]) => ({ name, about, installed: here.includes(name) }));
    },
    converses: (cli) => profileOf(cli)?.converses !== false,
    async run({ cli, args, promptBy, prompt, terminal, thread, onOutput, onComplaint }) {
      await using file = promptFile();
      const line =
        prompt === null
          ? { command: cli, args }
          : await commandLine({ cli, args, promptBy }, prompt, file.write);
      return await runProgram(line, {
        env: thread === undefined ? env : { ...env, RELAY_THREAD: thread },
        cwd,
        streams: terminal ? 'terminal' : 'output',
        onOutput,
        onComplaint,
        passSignals: true,
      });
    },
  };
}
