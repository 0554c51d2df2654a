import { rmSync } from 'node:fs';
import { loadConfig } from '../src/app/config.ts';
import { openCore } from '../src/app/store/open-core.ts';
import { LOCAL_CALLER } from '../src/contract/caller.ts';
import type { ThreadsApi } from '../src/contract/threads.ts';
import type { ThreadServices } from '../src/domain/threads/thread-services.ts';
import { benchFolder } from './servers.ts';

export interface ThreadStore extends AsyncDisposable {
  readonly threads: ThreadsApi;
  readonly core: ThreadServices;
}

/** Opens threads on a new store in this process. Writes are not synced, because the disk is not measured. */
export async function openThreadStore(): Promise<ThreadStore> {
  const home = benchFolder();
  const opened = await openCore(loadConfig({ RELAY_HOME: home, RELAY_DURABILITY: 'process' }), 'server');
  return {
    threads: opened.core.relay(LOCAL_CALLER, 'http://relay.invalid').threads,
    core: await opened.core.threads(),
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Creates a thread with this many facts in its state. Its last facts are the same for any number of facts. */
export async function threadOfFacts(threads: ThreadsApi, facts: number): Promise<string> {
  const { thread_id } = await threads.create();
  for (let from = 0; from < facts; from += 1000) {
    const ops = Array.from({ length: Math.min(1000, facts - from) }, (_, i) => ({
      op: 'add' as const,
      path: '/facts/-',
      value: {
        id: `f${String(10_000 - facts + from + i).padStart(5, '0')}`,
        key: 'k',
        value: 'a fact',
        at: '2026-01-01T00:00:00Z',
        by: 'b',
      },
    }));
    await threads.patch(thread_id, { ops });
  }
  return thread_id;
}

/** Applies a patch that keeps the size of the state, and returns its duration. */
export async function timedPatch(threads: ThreadsApi, id: string, round: number): Promise<number> {
  const value = `value ${String(round).padStart(8, '0')}`;
  const started = performance.now();
  await threads.patch(id, { ops: [{ op: 'add', path: '/session_summary', value }] });
  return performance.now() - started;
}

export async function grownTo(threads: ThreadsApi, id: string, version: number): Promise<void> {
  for (let at = (await threads.get(id)).state_version; at < version; at++) await timedPatch(threads, id, at);
}
