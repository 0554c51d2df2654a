import { A2A_TASK_TTL_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Deps } from '../../domain/deps.ts';
import { allRecords, recordsOf } from '../../domain/records.ts';

/** Key prefix for the entries of all tenants, so that a starting server finds them with one listing. */
const INDEX = 'sys.a2a/';

/** Data that a server needs to continue notifying webhooks after another server stopped. */
export interface OutboxEntry {
  readonly task: string;
  /** Caller that added the webhook. */
  readonly caller: Caller;
  readonly base: string;
}

/**
 * Outbox: tasks of one caller whose webhooks must still be notified of the end. It is stored, so it survives a
 * restart. A task is added before the request that adds the webhook is answered.
 */
export function outboxOf({ engine, env }: Deps, caller: Caller, base: string) {
  const records = recordsOf<OutboxEntry>(engine.records);
  const key = (task: string) => `${INDEX}${caller.tenant}/${task}`;
  return {
    add: (task: string) =>
      records.put(key(task), { task, caller, base }, { expiresAt: env.now() + A2A_TASK_TTL_MS }),
    /** Returns the entry's revision, which changes when the task is added again. Null if there is no entry. */
    mark: async (task: string) => (await records.get(key(task)))?.revision ?? null,
    /** Removes the entry. Returns false if the task was added again since `mark`: a webhook may be waiting. */
    remove: (task: string, mark: number) => records.delete(key(task), { expect: mark }),
  };
}

/** Lists the entries of all callers. */
export async function* outboxEntries({ engine }: Deps): AsyncGenerator<OutboxEntry> {
  for await (const { value } of allRecords(recordsOf<OutboxEntry>(engine.records), INDEX)) yield value;
}

export async function hasOutboxEntries({ engine }: Deps): Promise<boolean> {
  return (await engine.records.list(INDEX, { limit: 1 })).items.length > 0;
}
