import type { Json } from '../../base/json.ts';
import { type Caller, SCOPES } from '../../contract/caller.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { A2AOverHttp } from '../../interfaces/a2a/http.ts';
import type { A2AAccess, TaskStore } from '../../interfaces/a2a/task-record.ts';
import type { Protocol } from '../../interfaces/http/app.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import type { Records } from '../../kernel/records.ts';
import { hasOutboxEntries, outboxEntries, outboxOf } from './a2a-webhook-outbox.ts';

export interface A2AMountOptions {
  readonly core: RelayCore;
  readonly version: string;
  readonly publicUrl: string | null;
  readonly stopping: AbortSignal;
  /** Whether callers need a key. */
  readonly keys: boolean;
  /** Webhooks may be in our own network. */
  readonly privateWebhooks: boolean;
  log(event: LogEvent): void;
}

export interface A2AMount extends Protocol {
  /** Goes on with what servers before this one did not get to tell. Where nothing is left it costs one look. */
  resume(): Promise<void>;
}

/** A2A, loaded when the first agent asks for it. */
export function a2aMount(o: A2AMountOptions): A2AMount {
  const { env, engine } = o.core.deps;
  const { records } = engine;
  const open = (caller: Caller, base: string): A2AAccess => {
    // A key for tasks is enough: that a task is a push and a thread behind it is our affair. Its prefix still binds.
    const relay = o.core.relay({ ...caller, scopes: SCOPES }, base);
    const store = taskStore(records, caller.tenant);
    return { caller, base, relay, store, outbox: outboxOf(records, env, caller, base) };
  };
  const load = async () => {
    const [{ a2aOverHttp }, { webhookPost }] = await Promise.all([
      import('../../interfaces/a2a/http.ts'),
      import('./webhook-post.ts'),
    ]);
    return a2aOverHttp({
      version: o.version,
      env,
      keys: o.keys,
      stopping: o.stopping,
      out: webhookPost({ allowPrivate: o.privateWebhooks }),
      onError: (error) => o.log({ level: 'warn', event: 'a2a', error: String(error) }),
      baseOf: (c) => o.publicUrl ?? new URL(c.req.url).origin,
      open,
      outboxEntries: () => outboxEntries(records),
    });
  };
  let loading: Promise<A2AOverHttp> | null = null;
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    routes: [
      ['GET', '/.well-known/agent-card.json'],
      ['ALL', '/a2a'],
      ['ALL', '/a2a/*'],
    ],
    answer: async (c, entered) => (await loaded()).answer(c, entered),
    resume: async () => {
      if (await hasOutboxEntries(records)) await (await loaded()).resume();
    },
  };
}

/** The tasks of one tenant. */
function taskStore(records: Records, tenant: string): TaskStore {
  const prefix = `ten.${tenant}/a2a/`;
  return {
    get: async (key) => {
      const found = await records.get(prefix + key);
      return found ? { value: found.value as Json, revision: found.revision } : null;
    },
    put: async (key, value, options) => (await records.put(prefix + key, value, options)) !== null,
    list: async ({ after, limit }) => {
      const page = await records.list(`${prefix}task/`, { after, limit });
      return {
        values: page.items.map(({ value }) => value as Json),
        ...(page.next === undefined ? {} : { next: page.next }),
      };
    },
  };
}
