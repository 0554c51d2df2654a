import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { uuid } from '../../base/ids.ts';
import { A2A_WEBHOOKS, WEBHOOK_TIME_MS } from '../../base/limits.ts';
import type { Caller } from '../../contract/caller.ts';
import type { Deps } from '../../domain/deps.ts';
import type { Keys } from '../../domain/keys/keys.ts';
import { type StateAt, stepsSince, type TaskRecord, type Webhook } from './task-record.ts';
import type { TaskStore } from './task-store.ts';
import type { outboxOf } from './webhook-outbox.ts';

/** How long one who tells a webhook how a task ended keeps others from it: they may have stopped on the way. */
const TELLING_MS = 2 * WEBHOOK_TIME_MS;

/**
 * The webhooks of a caller's tasks. What each was told is kept with its task and claimed before it is told: several may follow one
 * task, on servers of one store and in requests of a Worker.
 */
export class TaskWebhooks {
  readonly outbox: ReturnType<typeof outboxOf>;
  readonly #deps: Deps;
  readonly #keys: Keys;
  readonly #store: TaskStore;
  readonly #caller: Caller;

  constructor(o: {
    readonly outbox: ReturnType<typeof outboxOf>;
    readonly deps: Deps;
    readonly keys: Keys;
    readonly store: TaskStore;
    readonly caller: Caller;
  }) {
    this.outbox = o.outbox;
    this.#deps = o.deps;
    this.#keys = o.keys;
    this.#store = o.store;
    this.#caller = o.caller;
  }

  /** `shown` is the task as whoever names the webhook is told of it. */
  async add(
    config: TaskPushNotificationConfig,
    version: string,
    shown: TaskRecord,
  ): Promise<TaskPushNotificationConfig> {
    const id = config.id || uuid(this.#deps.env);
    const { state, at } = shown;
    const webhook = { config: { ...config, id }, version, key: this.#caller.keyId, knows: { state, at } };
    await this.outbox.add(shown.id);
    await this.#store.change(shown.id, (now) => {
      const others = now.webhooks.filter((one) => one.config.id !== id);
      if (others.length >= A2A_WEBHOOKS)
        throw new RequestMalformedError(`A task tells at most ${A2A_WEBHOOKS} webhooks.`);
      return { ...now, webhooks: [...others, webhook] };
    });
    return webhook.config;
  }

  async remove(taskId: string, id: string): Promise<void> {
    await this.#store.change(taskId, (now) => ({
      ...now,
      webhooks: now.webhooks.filter(({ config }) => config.id !== id),
    }));
  }

  /** Whether the key that named the webhook still works. */
  mayTell({ key: keyId = this.#caller.keyId }: Webhook): Promise<boolean> {
    return this.#keys.isValid({ ...this.#caller, keyId });
  }

  /** False where the webhook was told of this state already, or somebody is about to tell it. */
  claimStep(taskId: string, webhook: Webhook, { state, at }: StateAt): Promise<boolean> {
    return this.#change(taskId, webhook, (one, task) => {
      const news = [...stepsSince(knownTo(one, task), task)];
      const isNews = news.some((step) => step.state === state && step.at === at);
      return isNews ? { ...one, knows: { state, at } } : null;
    });
  }

  /** False where the webhook knows how the task ended, or somebody is telling it. */
  claimEnd(taskId: string, webhook: Webhook): Promise<boolean> {
    const now = this.#deps.env.now();
    return this.#change(taskId, webhook, (one) =>
      one.told || (one.telling ?? 0) > now ? null : { ...one, telling: now + TELLING_MS },
    );
  }

  /** What came of a claim of the end. */
  async toldEnd(taskId: string, webhook: Webhook, told: boolean): Promise<void> {
    await this.#change(taskId, webhook, ({ telling: _, ...one }) => (told ? { ...one, told } : one));
  }

  /** False where nothing changed: no other webhook has taken its place, and `change` did not answer null. */
  async #change(
    taskId: string,
    { config: { id, url } }: Webhook,
    change: (one: Webhook, task: TaskRecord) => Webhook | null,
  ): Promise<boolean> {
    let changed = false;
    await this.#store.change(taskId, (now) => {
      const at = now.webhooks.findIndex(({ config }) => config.id === id && config.url === url);
      const next = at < 0 ? null : change(now.webhooks[at]!, now);
      changed = next !== null;
      return next === null ? null : { ...now, webhooks: now.webhooks.with(at, next) };
    });
    return changed;
  }
}

/** Of one that an earlier version kept nobody knows: it is told of what the task is now. */
export function knownTo({ knows }: Webhook, { at }: TaskRecord): StateAt {
  return knows ?? { state: 'submitted', at };
}
