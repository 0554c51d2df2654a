import { A2A_TASK_TTL_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Deps } from '../../domain/deps.ts';
import { allRecords, recordsOf } from '../../domain/records.ts';

/** Of all tenants in one place, so that a server that starts finds them without knowing who there is. */
const INDEX = 'sys.a2a/';

/** Enough to go on where another server stopped. */
export interface OutboxEntry {
  readonly task: string;
  /** Who named the webhook. */
  readonly caller: Caller;
  readonly base: string;
}

/**
 * Tasks of one caller with webhooks that have yet to be told how the task ended. It outlives the server, and a task is
 * added before whoever named the webhook gets an answer.
 */
export function outboxOf({ engine, env }: Deps, caller: Caller, base: string) {
  const records = recordsOf<OutboxEntry>(engine.records);
  const key = (task: string) => `${INDEX}${caller.tenant}/${task}`;
  return {
    add: (task: string) =>
      records.put(key(task), { task, caller, base }, { expiresAt: env.now() + A2A_TASK_TTL_MS }),
    /** Changes whenever the task is added again; null where it is not there. */
    mark: async (task: string) => (await records.get(key(task)))?.revision ?? null,
    /** False: it was added again since, and something may be left to tell. */
    remove: (task: string, mark: number) => records.delete(key(task), { expect: mark }),
  };
}

/** Those of all callers. */
export async function* outboxEntries({ engine }: Deps): AsyncGenerator<OutboxEntry> {
  for await (const { value } of allRecords(recordsOf<OutboxEntry>(engine.records), INDEX)) yield value;
}

export async function hasOutboxEntries({ engine }: Deps): Promise<boolean> {
  return (await engine.records.list(INDEX, { limit: 1 })).items.length > 0;
}
