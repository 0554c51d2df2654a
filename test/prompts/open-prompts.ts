import { systemEnv } from '../../src/base/env.ts';
import { Prompts } from '../../src/client/prompts/prompts.ts';
import { memoryCache } from '../pipelines/open-pipelines.ts';
import { type OpenThreads, openThreads, realCounter } from '../threads/open-threads.ts';

export interface OpenPrompts {
  readonly threads: OpenThreads;
  readonly prompts: Prompts;
  /** Creates a thread and returns its id. */
  thread(): Promise<string>;
}

export function openPrompts(): OpenPrompts {
  const threads = openThreads();
  const prompts = new Prompts({
    threads: (who) => threads.as(who),
    tokens: realCounter,
    env: systemEnv,
    cache: memoryCache(),
    frameSecret: async () => new Uint8Array(32),
  });
  return { threads, prompts, thread: async () => (await threads.api.create({ name: 'test' })).thread_id };
}
