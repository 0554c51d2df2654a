import { A2A_TASK_TTL_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Deps } from '../../domain/deps.ts';
import { allRecords, recordsOf } from '../../domain/records.ts';

/**
 * Prefix of the record keys of outbox entries, the same for all tenants, so that a starting server finds all
 * entries with one listing.
 */
const INDEX = 'sys.a2a/';

/** A stored record, with which another server can notify the webhooks of a task (`webhooks.ts`) if this server stops. */
export interface OutboxEntry {
  readonly task: string;
  /** Caller that added the webhook. */
  readonly caller: Caller;
  readonly base: string;
}

/**
 * Returns the outbox of a caller: the stored list of tasks whose webhooks must still be notified of the task's end. A
 * task enters the list before the client that adds the webhook gets its answer.
 */
export function outboxOf({ engine, env }: Deps, caller: Caller, base: string) {
  const records = recordsOf<OutboxEntry>(engine.records);
  const key = (task: string) => `${INDEX}${caller.tenant}/${task}`;
  return {
    add: (task: string) =>
      records.put(key(task), { task, caller, base }, { expiresAt: env.now() + A2A_TASK_TTL_MS }),
    /**
     * Returns the revision of the entry, or null if there is no entry. The revision changes when the task is
     * added again.
     */
    mark: async (task: string) => (await records.get(key(task)))?.revision ?? null,
    /**
     * Removes the entry. Returns false if the task was added again since `mark`, because another webhook may then wait
     * for the end of the task.
     */
    remove: (task: string, mark: number) => records.delete(key(task), { expect: mark }),
  };
}

/** Yields the entries of all callers. */
export async function* outboxEntries({ engine }: Deps): AsyncGenerator<OutboxEntry> {
  for await (const { value } of allRecords(recordsOf<OutboxEntry>(engine.records), INDEX)) yield value;
}

export async function hasOutboxEntries({ engine }: Deps): Promise<boolean> {
  return (await engine.records.list(INDEX, { limit: 1 })).items.length > 0;
}
