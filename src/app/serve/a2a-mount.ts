import type { Context } from 'hono';
import type { Json } from '../../base/json.ts';
import { type Caller, SCOPES } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import { directChannel } from '../../contract/task-names.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { AgentDirectory, AgentEntry } from '../../interfaces/a2a/card.ts';
import type { A2AEntered, A2AOverHttp } from '../../interfaces/a2a/http.ts';
import type { TaskStore } from '../../interfaces/a2a/task-record.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import type { Records } from '../../kernel/records.ts';
import { hasOutboxEntries, outboxEntries, outboxOf } from './a2a-webhook-outbox.ts';
import type { Enter, Mount } from './mount.ts';

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

export interface A2AMount {
  readonly mount: Mount;
  /** Goes on with what servers before this one did not get to tell. Where nothing is left it costs one look. */
  resume(): Promise<void>;
}

/** A2A, loaded when the first agent asks for it. */
export function a2aMount(o: A2AMountOptions): A2AMount {
  const { env, engine } = o.core.deps;
  const { records } = engine;
  const reenter = (caller: Caller, base: string): A2AEntered => {
    // A key for tasks is enough: that a task is a push and a thread behind it is our affair. Its prefix still binds.
    const relay = o.core.relay({ ...caller, scopes: SCOPES }, base);
    const store = taskStore(records, caller.tenant);
    return {
      caller,
      base,
      relay,
      store,
      outbox: outboxOf(records, env, caller, base),
      agents: bridges(relay),
    };
  };
  let entrance: Enter | null = null;
  let serve: Promise<A2AOverHttp> | null = null;
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
      enter: async (c) => {
        const { caller, base } = await entrance!(c);
        return reenter(caller, base);
      },
      reenter,
      outboxEntries: () => outboxEntries(records),
    });
  };
  const handle = async (c: Context) => {
    serve ??= load();
    return (await serve).answer(c);
  };
  return {
    mount: (app, enter) => {
      entrance = enter;
      app.get('/.well-known/agent-card.json', handle);
      app.all('/a2a', handle);
      app.all('/a2a/*', handle);
    },
    resume: async () => {
      if (!(await hasOutboxEntries(records))) return;
      serve ??= load();
      await (await serve).resume();
    },
  };
}

/** Tasks of one tenant, beside its other indexes. */
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

/** Bridges that are there, by the names under which they registered. */
function bridges(relay: Relay): AgentDirectory {
  const list = async (): Promise<AgentEntry[]> => {
    const { agents } = await relay.agents.list();
    return agents.flatMap(({ name, alive, bridge }) => {
      if (!bridge || !alive) return [];
      const description = `The agent behind the bridge "${name}" (${bridge.runner}) of this relay.`;
      const task_channel = directChannel(bridge.task_channel, name);
      return [{ name, description, task_channel, done_channel: bridge.done_channel }];
    });
  };
  return { list, find: async (name) => (await list()).find((entry) => entry.name === name) ?? null };
}
