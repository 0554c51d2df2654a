import { Message, type SendMessageRequest, type TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError, TaskNotCancelableError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { isRelayError } from '../../base/errors.ts';
import { uuid } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  A2A_LOOK_MS,
  A2A_TASK_TTL_MS,
  A2A_TASKS_LISTED,
  A2A_WEBHOOKS,
  DEFAULT_TTL_MS,
} from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { type Caller, SCOPES } from '../../contract/caller.ts';
import type { Relay } from '../../contract/relay.ts';
import type { Deps } from '../../domain/deps.ts';
import type { Keys } from '../../domain/keys/keys.ts';
import { allRecords, type RecordsOf, recordsOf } from '../../domain/records.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { ContextRelay } from '../../sdk/context-relay.ts';
import { type FoundResult, ResultWaiters } from '../../sdk/result-waiters.ts';
import type { AgentEntry } from './card.ts';
import { storeLargeParts, summaryOf, taskText } from './parts.ts';
import { isOver, type TaskRecord, type Webhook } from './task-record.ts';
import { receivedResult, recordResult } from './task-result.ts';
import { outboxOf } from './webhook-outbox.ts';

/** Tasks that others give to agents of this relay, for one caller. Everything it knows is in the store. */
export class TaskService {
  readonly caller: Caller;
  /** What the URLs of pointers begin with. */
  readonly base: string;
  readonly relay: Relay;
  readonly outbox: ReturnType<typeof outboxOf>;
  readonly #deps: Deps;
  readonly #keys: Keys;
  readonly #tasks: RecordsOf<TaskRecord>;
  readonly #results: ResultWaiters;

  constructor(core: RelayCore, caller: Caller, base: string) {
    this.caller = caller;
    this.base = base;
    // A key for tasks is enough: that a task is a push and a thread behind it is our affair. Its prefix still binds.
    this.relay = core.relay({ ...caller, scopes: SCOPES }, base);
    this.outbox = outboxOf(core.deps, caller, base);
    this.#deps = core.deps;
    this.#keys = core.keys;
    this.#tasks = recordsOf(core.deps.engine.records);
    this.#results = new ResultWaiters(new ContextRelay({ relay: this.relay, ownBases: [base] }));
  }

  /** Puts the task where the agent looks. The same message again is the same task. */
  async submit(agent: AgentEntry, request: SendMessageRequest, version: string): Promise<TaskRecord> {
    const { relay, base } = this;
    const { message } = request;
    if (!message?.messageId) throw new RequestMalformedError('message.messageId is required');
    const context_id = await this.#thread(agent, message);
    const light = await storeLargeParts(message, relay.pointers, base);
    const { done_channel } = agent;
    const pushed = await relay.pointers.push({
      body: new TextEncoder().encode(taskText(light)),
      content_type: 'text/markdown',
      channel: agent.task_channel,
      metadata: { summary: summaryOf(light), done_channel, thread_id: context_id },
      idempotency_key: `a2a ${agent.name} ${message.messageId}`.slice(0, 200),
    });
    const wanted = request.configuration?.taskPushNotificationConfig;
    const record: TaskRecord = {
      id: pushed.id,
      context_id,
      agent: agent.name,
      task_channel: agent.task_channel,
      done_channel,
      state: 'submitted',
      at: this.#now(),
      message: Message.toJSON(light) as JsonObject,
      webhooks: wanted?.url ? [this.#webhook(wanted, pushed.id, version)] : [],
    };
    if (wanted?.url) await this.outbox.add(pushed.id);
    if (!(await this.#write(record, 'absent'))) return this.find(pushed.id);
    await relay.threads.record(context_id, 'a2a.task.submitted', { task_id: pushed.id, agent: agent.name });
    return record;
  }

  /** The task as it is now: what has come of it in the meantime is taken in first. */
  async find(id: string): Promise<TaskRecord> {
    const kept = /^[0-9a-f-]{36}$/.test(id) ? await this.#kept(id) : null;
    if (!kept) throw new TaskNotFoundError(`Task not found: ${id}`);
    return this.#current(kept.value, kept.revision, null);
  }

  /** Newest first. */
  async list(keep: (record: TaskRecord) => boolean): Promise<TaskRecord[]> {
    const found: TaskRecord[] = [];
    for await (const { value } of allRecords(this.#tasks, this.#key('task/'))) {
      found.push(value);
      if (found.length === A2A_TASKS_LISTED) break;
    }
    return found.filter(keep).sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  }

  async cancel(record: TaskRecord): Promise<TaskRecord> {
    const { id, context_id } = record;
    if (isOver(record)) throw new TaskNotCancelableError(`Task is ${record.state}: ${id}`);
    const canceled = await this.#change(id, (now) =>
      isOver(now) ? null : { ...now, state: 'canceled', at: this.#now() },
    );
    if (canceled.state !== 'canceled') throw new TaskNotCancelableError(`Task is ${canceled.state}: ${id}`);
    // Whoever has not read it yet never will; whoever has is not held back by this.
    await this.relay.pointers.delete(id).catch(() => {});
    await this.relay.threads.record(context_id, 'a2a.task.canceled', { task_id: id });
    return canceled;
  }

  /** The task, and again whenever it has changed, until it is over or the signal fires. */
  async *follow(first: TaskRecord, signal: AbortSignal): AsyncGenerator<TaskRecord> {
    yield first;
    if (isOver(first)) return;
    const stop = new AbortController();
    const until = AbortSignal.any([signal, stop.signal]);
    const arrived = new AbortController();
    let result: FoundResult | null = null;
    const listening = this.#result(first, until).then((found) => {
      result = found;
      if (found) arrived.abort();
    });
    const soon = AbortSignal.any([until, arrived.signal]);
    try {
      let last = first;
      while (!until.aborted) {
        const kept = await this.#kept(first.id);
        if (!kept) return;
        const record = await this.#current(kept.value, kept.revision, result);
        if (record.state !== last.state) yield record;
        if (isOver(record)) return;
        last = record;
        await pause(A2A_LOOK_MS, soon);
      }
    } finally {
      stop.abort();
      await listening;
    }
  }

  async addWebhook(config: TaskPushNotificationConfig, version: string): Promise<TaskPushNotificationConfig> {
    const webhook = this.#webhook(config, config.taskId, version);
    await this.outbox.add(config.taskId);
    await this.#change(config.taskId, (now) => {
      const others = now.webhooks.filter((one) => one.config.id !== webhook.config.id);
      if (others.length >= A2A_WEBHOOKS)
        throw new RequestMalformedError(`A task tells at most ${A2A_WEBHOOKS} webhooks.`);
      return { ...now, webhooks: [...others, webhook] };
    });
    return webhook.config;
  }

  /** Whether the key that named the webhook still works. */
  mayTell({ key: keyId = this.caller.keyId }: Webhook): Promise<boolean> {
    return this.#keys.isValid({ ...this.caller, keyId });
  }

  /** Notes that the webhook knows how the task ended, where no other has taken its place since. */
  async markTold(taskId: string, { config }: Webhook): Promise<void> {
    await this.#change(taskId, (now) => ({
      ...now,
      webhooks: now.webhooks.map((one) =>
        one.config.id === config.id && one.config.url === config.url ? { ...one, told: true } : one,
      ),
    }));
  }

  async removeWebhook(taskId: string, id: string): Promise<void> {
    await this.#change(taskId, (now) => ({
      ...now,
      webhooks: now.webhooks.filter(({ config }) => config.id !== id),
    }));
  }

  /** The thread that a message belongs to. One without a thread begins one, and only one however often it comes. */
  async #thread(agent: AgentEntry, message: Message): Promise<string> {
    if (message.contextId) return this.#known(message.contextId);
    const { records } = this.#deps.engine;
    const name = encodeURIComponent(`${agent.name} ${message.messageId}`).slice(0, 500);
    const key = this.#key(`message/${name}`);
    const seen = await records.get(key);
    if (seen) return seen.value as string;
    const { thread_id } = await this.relay.threads.create({ name: summaryOf(message) });
    const expiresAt = this.#deps.env.now() + DEFAULT_TTL_MS;
    if (await records.put(key, thread_id, { expect: 'absent', expiresAt })) return thread_id;
    await this.relay.threads.delete(thread_id);
    return ((await records.get(key))?.value as string | undefined) ?? thread_id;
  }

  async #known(context: string): Promise<string> {
    try {
      return (await this.relay.threads.get(context)).thread_id;
    } catch (error) {
      if (!isRelayError(error) || error.status >= 500) throw error;
      throw new RequestMalformedError(
        `contextId ${context.slice(0, 100)} is no thread of this relay. Leave it out to begin one.`,
      );
    }
  }

  /**
   * Asks for the task and not only for its receipts: its result is on disk before anybody is told of it, while receipts are
   * written a moment later and a crash may swallow them.
   */
  async #current(record: TaskRecord, revision: number, arrived: FoundResult | null): Promise<TaskRecord> {
    if (isOver(record)) return record;
    const { relay } = this;
    const known = arrived ? null : await relay.tasks.get(record.id).catch(() => null);
    const result = arrived ?? known?.result ?? receivedResult(known?.receipts ?? []);
    if (result) {
      const over = { ...record, ...(await recordResult(record, result, this.relay)), at: this.#now() };
      if (await this.#write(over, revision)) return over;
      return (await this.#kept(record.id))?.value ?? over;
    }
    const taken = known?.receipts.find(({ rung }) => rung === 'pulled' || rung === 'acked');
    return taken ? { ...record, state: 'working', at: taken.at } : record;
  }

  /** The result as soon as it is announced; null where nobody can listen. Then the task is still looked at now and then. */
  async #result({ id, done_channel }: TaskRecord, signal: AbortSignal): Promise<FoundResult | null> {
    try {
      using listening = await this.#results.listen(done_channel);
      return await listening.wait(id, { signal });
    } catch {
      return null;
    }
  }

  /** Applies a change to the newest state of a task; null leaves it as it is. */
  async #change(id: string, change: (now: TaskRecord) => TaskRecord | null): Promise<TaskRecord> {
    for (;;) {
      const kept = await this.#kept(id);
      if (!kept) throw new TaskNotFoundError(`Task not found: ${id}`);
      const next = change(kept.value);
      if (next === null) return kept.value;
      if (await this.#write(next, kept.revision)) return next;
    }
  }

  #kept(id: string): ReturnType<RecordsOf<TaskRecord>['get']> {
    return this.#tasks.get(this.#key(`task/${id}`));
  }

  async #write(record: TaskRecord, expect: 'absent' | number): Promise<boolean> {
    const expiresAt = this.#deps.env.now() + A2A_TASK_TTL_MS;
    return (await this.#tasks.put(this.#key(`task/${record.id}`), record, { expect, expiresAt })) !== null;
  }

  #key(name: string): string {
    return `ten.${this.caller.tenant}/a2a/${name}`;
  }

  #webhook(config: TaskPushNotificationConfig, taskId: string, version: string): Webhook {
    const id = config.id || uuid(this.#deps.env);
    return { config: { ...config, taskId, id }, version, key: this.caller.keyId };
  }

  #now(): string {
    return new Date(this.#deps.env.now()).toISOString();
  }
}
