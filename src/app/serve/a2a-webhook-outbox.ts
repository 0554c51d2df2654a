import type { Env } from '../../base/env.ts';
import type { Json } from '../../base/json.ts';
import { A2A_TASK_TTL_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { OutboxEntry, WebhookOutbox } from '../../interfaces/a2a/task-record.ts';
import type { Records } from '../../kernel/records.ts';

/** Of all tenants in one place, so that a server that starts finds them without knowing who there is. */
const INDEX = 'sys.a2a/';
const PAGE = 100;

/** What one caller adds to it. */
export function outboxOf(records: Records, env: Env, caller: Caller, base: string): WebhookOutbox {
  const key = (task: string) => `${INDEX}${caller.tenant}/${task}`;
  return {
    add: async (task) => {
      const value: OutboxEntry = { task, caller, base };
      await records.put(key(task), value as unknown as Json, { expiresAt: env.now() + A2A_TASK_TTL_MS });
    },
    mark: async (task) => (await records.get(key(task)))?.revision ?? null,
    remove: (task, mark) => records.delete(key(task), { expect: mark }),
  };
}

/** Everything in it, as it was when it was come by. */
export async function* outboxEntries(records: Records): AsyncGenerator<OutboxEntry> {
  let after: string | undefined;
  do {
    const page = await records.list(INDEX, { after, limit: PAGE });
    for (const { value } of page.items) yield value as unknown as OutboxEntry;
    after = page.next;
  } while (after !== undefined);
}

export async function hasOutboxEntries(records: Records): Promise<boolean> {
  return (await records.list(INDEX, { limit: 1 })).items.length > 0;
}
