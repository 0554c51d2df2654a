import { StreamResponse, type TaskPushNotificationConfig } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { uuid } from '../../base/ids.ts';
import { A2A_WEBHOOKS, WEBHOOK_TIME_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import { outboxOf } from './outbox-records.ts';
import {
  changes,
  isOver,
  type StateAt,
  stepsSince,
  type TaskRecord,
  taskAtState,
  toTask,
  type Webhook,
} from './task-record.ts';
import type { TaskService } from './task-service.ts';

/**
 * Delay in ms before the first retry of a failed notification about a task's end. Each further delay is four
 * times as long.
 */
const RETRY_MS = 1_000;
/**
 * Maximum number of attempts. The delays between them add up to more than 20 minutes, enough for a receiver to
 * restart. After the last attempt, only a server that starts tries again.
 */
const ATTEMPTS = 7;
/**
 * Duration in ms of the lease with which one server notifies a webhook of a task's end. If that server stops,
 * another one can take over after this time.
 */
const NOTIFY_LEASE_MS = 2 * WEBHOOK_TIME_MS;

/** Sends HTTP requests to URLs that clients chose, except URLs that lead into the server's network. */
export interface WebhookPost {
  check(url: string): Promise<void>;
  post(url: string, o: { readonly headers: Record<string, string>; readonly body: string }): Promise<void>;
}

export interface WebhooksOptions {
  readonly out: WebhookPost;
  readonly stopping: AbortSignal;
  onError(error: unknown): void;
}

/**
 * Notifies webhooks of the changes of a task. The notification of the task's end is sent at least once: this server or
 * the next one retries it until the webhook confirms it. Earlier changes are sent at most once. A webhook gets nothing
 * after its API key was revoked. Several servers or Worker requests may follow the same task, so each claims a
 * notification in the task record before sending it.
 */
export class Webhooks {
  readonly #o: WebhooksOptions;
  readonly #defer: (work: () => Promise<unknown>) => void;
  /**
   * Tasks with a follower, by id. The value is null, or a function if `follow` was called again for the task. The
   * function starts a new follower after the current one has ended, because the current one may already be about to
   * end.
   */
  readonly #followed = new Map<string, (() => void) | null>();

  /** `defer` runs background work that may outlast the request. */
  constructor(o: WebhooksOptions, defer: (work: () => Promise<unknown>) => void) {
    this.#o = o;
    this.#defer = defer;
  }

  async check(url: string): Promise<void> {
    try {
      await this.#o.out.check(url);
    } catch (error) {
      throw new RequestMalformedError(`This webhook is not allowed: ${(error as Error).message}`);
    }
  }

  /**
   * Adds a webhook to a task. `sent` is the task as the client got it: the webhook gets only later states.
   */
  async add(
    config: TaskPushNotificationConfig,
    version: string,
    sent: TaskRecord,
    tasks: TaskService,
  ): Promise<TaskPushNotificationConfig> {
    const { core, caller, base } = tasks;
    const id = config.id || uuid(core.deps.env);
    const { state, at } = sent;
    const webhook: Webhook = {
      config: { ...config, id },
      version,
      key: caller.keyId,
      knows: { state, at },
    };
    await outboxOf(core.deps, caller, base).add(sent.id);
    await tasks.change(sent.id, (now) => {
      const others = now.webhooks.filter((one) => one.config.id !== id);
      if (others.length >= A2A_WEBHOOKS)
        throw new RequestMalformedError(`A task may have at most ${A2A_WEBHOOKS} webhooks.`);
      return { ...now, webhooks: [...others, webhook] };
    });
    this.follow(sent, tasks);
    return webhook.config;
  }

  follow(record: TaskRecord, tasks: TaskService): void {
    const { id } = record;
    if (this.#followed.has(id)) {
      this.#followed.set(id, () => this.follow(record, tasks));
      return;
    }
    this.#followed.set(id, null);
    const notified = this.#notify(record, tasks)
      .catch(this.#o.onError)
      .finally(() => {
        const again = this.#followed.get(id);
        this.#followed.delete(id);
        if (!this.#o.stopping.aborted) again?.();
      });
    // A stopping server does not wait for these notifications. Their tasks stay in the outbox, and the next server
    // sends the notifications.
    this.#defer(() => Promise.race([notified, aborted(this.#o.stopping)]));
  }

  async #notify(first: TaskRecord, tasks: TaskService): Promise<void> {
    for await (const seen of tasks.follow(first, this.#o.stopping)) {
      if (isOver(seen)) return this.#notifyEnd(seen.id, tasks);
      const record = await tasks.find(seen.id);
      for (const webhook of record.webhooks) await this.#notifySteps(webhook, record, tasks);
    }
  }

  async #notifySteps(webhook: Webhook, record: TaskRecord, tasks: TaskService): Promise<void> {
    const notified = lastNotified(webhook, record);
    let before = taskAtState(record, notified);
    for (const step of stepsSince(notified, record)) {
      if (isOver(step) || !(await isKeyValid(webhook, tasks))) return;
      const { state, at } = step;
      // Claim this state in the task record. If the claim fails, another server sends this state.
      const claimed = await changeWebhook(tasks, record.id, webhook, (one, task) => {
        const news = [...stepsSince(lastNotified(one, task), task)];
        return news.some((each) => each.state === state && each.at === at)
          ? { ...one, knows: { state, at } }
          : null;
      });
      if (claimed) await this.#post(webhook, step, tasks.base, before);
      before = step;
    }
  }

  async #notifyEnd(id: string, tasks: TaskService): Promise<void> {
    const { core, caller, base } = tasks;
    const outbox = outboxOf(core.deps, caller, base);
    for (let attempt = 1; ; ) {
      const mark = await outbox.mark(id);
      const record = await tasks.find(id);
      let missed = false;
      for (const webhook of record.webhooks) {
        if (webhook.told || !(await isKeyValid(webhook, tasks))) continue;
        const now = core.deps.env.now();
        const claimed = await changeWebhook(tasks, id, webhook, (one) =>
          one.told || (one.telling ?? 0) > now ? null : { ...one, telling: now + NOTIFY_LEASE_MS },
        );
        const accepted = claimed && (await this.#post(webhook, record, base));
        if (claimed)
          await changeWebhook(tasks, id, webhook, ({ telling: _, ...one }) =>
            accepted ? { ...one, told: true } : one,
          );
        if (!accepted) missed = true;
      }
      if (!missed && (mark === null || (await outbox.remove(id, mark)))) return;
      if (!missed) continue;
      if (attempt === ATTEMPTS) return;
      await pause(RETRY_MS * 4 ** (attempt++ - 1), this.#o.stopping);
      if (this.#o.stopping.aborted) return;
    }
  }

  /** Posts a change of the task to the webhook. Returns whether the webhook accepted the request. */
  async #post(webhook: Webhook, record: TaskRecord, base: string, before?: TaskRecord): Promise<boolean> {
    const { url, token, authentication } = webhook.config;
    const headers: Record<string, string> = {};
    if (token) headers['X-A2A-Notification-Token'] = token;
    if (authentication?.scheme && authentication.credentials)
      headers.Authorization = `${authentication.scheme} ${authentication.credentials}`;
    try {
      for (const change of changes(record, base, before)) {
        const { body, contentType } =
          webhook.version === '0.3'
            ? new V03PushNotificationSerializer().serialize(change, toTask(record, base))
            : { body: JSON.stringify(StreamResponse.toJSON(change)), contentType: 'application/a2a+json' };
        await this.#o.out.post(url, { headers: { 'Content-Type': contentType, ...headers }, body });
      }
      return true;
    } catch (error) {
      this.#o.onError(error);
      return false;
    }
  }
}

/** Returns whether the API key that added the webhook is still valid. */
function isKeyValid({ key }: Webhook, { core, caller }: TaskService): Promise<boolean> {
  return core.keys.isValid({ ...caller, keyId: key ?? caller.keyId });
}

/**
 * Changes a webhook in the task record. Returns false if the webhook was replaced or `change` returned null.
 */
async function changeWebhook(
  tasks: TaskService,
  taskId: string,
  { config: { id, url } }: Webhook,
  change: (one: Webhook, task: TaskRecord) => Webhook | null,
): Promise<boolean> {
  let changed = false;
  await tasks.change(taskId, (now) => {
    const at = now.webhooks.findIndex(({ config }) => config.id === id && config.url === url);
    const next = at < 0 ? null : change(now.webhooks[at]!, now);
    changed = next !== null;
    return next === null ? null : { ...now, webhooks: now.webhooks.with(at, next) };
  });
  return changed;
}

/**
 * Returns the last state of which a webhook was notified. Records of version 0.1.0 lack it, so their webhooks
 * get only the current state.
 */
function lastNotified({ knows }: Webhook, { at }: TaskRecord): StateAt {
  return knows ?? { state: 'submitted', at };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
