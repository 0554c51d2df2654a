import { type Env, systemEnv } from '../../src/base/env.ts';
import type { Json } from '../../src/base/json.ts';
import {
  type PipelineParts,
  Pipelines,
  type RunOptions,
  type RunSummary,
} from '../../src/client/pipelines/pipelines.ts';
import type { Worker } from '../../src/client/pipelines/run-lease.ts';
import type { Progress, StepCall, StepResult, StepRunner } from '../../src/client/pipelines/step-runner.ts';
import type { AnswerCache, CachedAnswer } from '../../src/client/prompts/prompts.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { type OpenThreads, openThreads } from '../threads/open-threads.ts';

export interface OpenPipelines {
  readonly threads: OpenThreads;
  readonly pipelines: Pipelines;
  /** All attempts at steps, in the order in which they started. */
  readonly calls: StepCall[];
  readonly progressEvents: Progress[];
  start(yaml: string, inputs?: { [name: string]: Json }, o?: Partial<RunOptions>): Promise<RunSummary>;
  resume(run: string, yaml?: string, o?: Partial<RunOptions>): Promise<RunSummary>;
  text(run: string, step: string): Promise<string>;
}

/** Opens pipelines whose steps all run `work`. The default engine is the engine under test. */
export function openPipelines(
  work: (call: StepCall, o: { signal: AbortSignal }) => Promise<string | StepResult> | string | StepResult,
  o: {
    engine?: Engine;
    cache?: AnswerCache;
    env?: Env;
    name?: string;
    lives?: Worker['isAlive'];
    pause?(ms: number): void;
    prices?: PipelineParts['prices'];
    variables?: { [name: string]: string };
    ask?: PipelineParts['ask'];
  } = {},
): OpenPipelines {
  const env = o.env ?? systemEnv;
  const threads = openThreads({ env, ...(o.engine ? { engine: o.engine } : {}) });
  const calls: StepCall[] = [];
  const progressEvents: Progress[] = [];
  const runner: StepRunner = async (call, at) => {
    calls.push(call);
    const result = await work(call, at);
    return typeof result === 'string' ? { content: result } : result;
  };
  const pipelines = new Pipelines({
    threads: (who) => threads.as(who),
    env,
    cache: o.cache ?? memoryCache(),
    frameSecret: async () => new Uint8Array(32),
    runners: {
      shell: runner,
      provider: runner,
      cli: runner,
      capability: runner,
      bridge: runner,
      a2a: runner,
    },
    prices: o.prices ?? { models: {} },
    variables: o.variables ?? {},
    readSecret: async (_name, { env: name }) => o.variables?.[name ?? ''] ?? '',
    ask: o.ask ?? (() => Promise.reject(new Error('nobody is there'))),
    pause: async (ms) => o.pause?.(ms),
    worker: { name: o.name ?? 'a test', isAlive: o.lives ?? (() => null) },
  });
  const options = (more: Partial<RunOptions> = {}): RunOptions => ({
    signal: new AbortController().signal,
    progress: (progress) => progressEvents.push(progress),
    ...more,
  });
  const file = (text: string) => ({ text, file: 'test.yaml', name: 'test' });
  return {
    threads,
    pipelines,
    calls,
    progressEvents,
    start: (yaml, inputs = {}, more) => pipelines.start(file(yaml), inputs, options(more)),
    resume: (run, yaml, more) => pipelines.resume(run, yaml === undefined ? null : file(yaml), options(more)),
    async text(run, step) {
      const { summary } = await pipelines.show(run);
      const ref = summary.steps.find((record) => record.step === step)?.ref;
      if (ref === undefined) throw new Error(`${step} has no result`);
      const { body } = await threads.api.content(run, ref);
      return new Response(body as Uint8Array<ArrayBuffer>).text();
    },
  };
}

export function memoryCache(): AnswerCache {
  const cache = new Map<string, CachedAnswer>();
  return {
    get: async (key) => cache.get(key) ?? null,
    put: async (key, answer) => {
      cache.set(key, answer);
    },
  };
}

/** Returns a pipeline whose steps have only ids, agents and needs. */
export function dag(steps: readonly { id: string; needs?: readonly string[]; retry?: number }[]): string {
  const lines = ['agents:', '  sh: { shell: "true" }', 'steps:'];
  for (const { id, needs = [], retry } of steps) {
    lines.push(`  - id: ${id}`, '    agent: sh', `    needs: [${needs.join(', ')}]`);
    if (retry !== undefined) lines.push(`    retry: { max: ${retry}, backoff: 1ms }`);
  }
  return lines.join('\n');
}
