import { StreamResponse, type TaskPushNotificationConfig } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { uuid } from '../../base/ids.ts';
import { A2A_WEBHOOKS, WEBHOOK_TIME_MS } from '../../base/limits.ts';
import { pause } from '../../base/pause.ts';
import {
  asItWas,
  changes,
  isOver,
  type StateAt,
  stepsSince,
  type TaskRecord,
  toTask,
  type Webhook,
} from './task-record.ts';
import type { TaskService } from './task-service.ts';
import { outboxOf } from './webhook-outbox.ts';

/** The pause before the end of a task is sent again to a webhook that did not take it. Each pause is four times the last. */
const AGAIN_MS = 1_000;
/** Over twenty minutes in all, in which a receiver is restarted. After that it is up to the next server that starts. */
const TRIES = 7;
/** How long one who tells a webhook how a task ended keeps others from it: they may have stopped on the way. */
const TELLING_MS = 2 * WEBHOOK_TIME_MS;

/** Posts to an address that somebody else chose: refuses those that lead back into our own network. */
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
 * Tells webhooks of the changes of tasks, with one follower for each task. The end of a task is sent until every webhook
 * has answered, by the next server if need be, so it may arrive twice. Changes before the end are sent at most once. A
 * webhook whose key no longer works is told nothing. What each was told is kept with its task and claimed before it is told:
 * several may follow one task, on servers of one store and in requests of a Worker.
 */
export class Webhooks {
  readonly #o: WebhooksOptions;
  readonly #defer: (work: () => Promise<unknown>) => void;
  /** A follow that was asked for while the task had a follower, which may be about to end without having seen it. */
  readonly #followed = new Map<string, (() => void) | null>();

  /** `defer` keeps what is told after the request is over. */
  constructor(o: WebhooksOptions, defer: (work: () => Promise<unknown>) => void) {
    this.#o = o;
    this.#defer = defer;
  }

  async check(url: string): Promise<void> {
    try {
      await this.#o.out.check(url);
    } catch (error) {
      throw new RequestMalformedError(`This webhook is refused: ${(error as Error).message}`);
    }
  }

  /** `shown` is the task as whoever names the webhook is told of it. */
  async add(
    config: TaskPushNotificationConfig,
    version: string,
    shown: TaskRecord,
    tasks: TaskService,
  ): Promise<TaskPushNotificationConfig> {
    const { core, caller, base } = tasks;
    const id = config.id || uuid(core.deps.env);
    const { state, at } = shown;
    const webhook: Webhook = {
      config: { ...config, id },
      version,
      key: caller.keyId,
      knows: { state, at },
    };
    await outboxOf(core.deps, caller, base).add(shown.id);
    await tasks.change(shown.id, (now) => {
      const others = now.webhooks.filter((one) => one.config.id !== id);
      if (others.length >= A2A_WEBHOOKS)
        throw new RequestMalformedError(`A task tells at most ${A2A_WEBHOOKS} webhooks.`);
      return { ...now, webhooks: [...others, webhook] };
    });
    this.follow(shown, tasks);
    return webhook.config;
  }

  follow(record: TaskRecord, tasks: TaskService): void {
    const { id } = record;
    if (this.#followed.has(id)) {
      this.#followed.set(id, () => this.follow(record, tasks));
      return;
    }
    this.#followed.set(id, null);
    const told = this.#tell(record, tasks)
      .catch(this.#o.onError)
      .finally(() => {
        const again = this.#followed.get(id);
        this.#followed.delete(id);
        if (!this.#o.stopping.aborted) again?.();
      });
    // A server that stops waits for none of it: the outbox has what is left to tell.
    this.#defer(() => Promise.race([told, aborted(this.#o.stopping)]));
  }

  async #tell(first: TaskRecord, tasks: TaskService): Promise<void> {
    for await (const seen of tasks.follow(first, this.#o.stopping)) {
      if (isOver(seen)) return this.#tellEnd(seen.id, tasks);
      const record = await tasks.find(seen.id);
      for (const webhook of record.webhooks) await this.#tellSteps(webhook, record, tasks);
    }
  }

  async #tellSteps(webhook: Webhook, record: TaskRecord, tasks: TaskService): Promise<void> {
    const known = knownTo(webhook, record);
    let before = asItWas(record, known);
    for (const step of stepsSince(known, record)) {
      if (isOver(step) || !(await mayTell(webhook, tasks))) return;
      const { state, at } = step;
      // Nobody has told it of this state, or is about to.
      const claimed = await changeWebhook(tasks, record.id, webhook, (one, task) => {
        const news = [...stepsSince(knownTo(one, task), task)];
        return news.some((each) => each.state === state && each.at === at)
          ? { ...one, knows: { state, at } }
          : null;
      });
      if (claimed) await this.#post(webhook, step, tasks.base, before);
      before = step;
    }
  }

  async #tellEnd(id: string, tasks: TaskService): Promise<void> {
    const { core, caller, base } = tasks;
    const outbox = outboxOf(core.deps, caller, base);
    for (let tries = 1; ; ) {
      const mark = await outbox.mark(id);
      const record = await tasks.find(id);
      let missed = false;
      for (const webhook of record.webhooks) {
        if (webhook.told || !(await mayTell(webhook, tasks))) continue;
        const now = core.deps.env.now();
        const claimed = await changeWebhook(tasks, id, webhook, (one) =>
          one.told || (one.telling ?? 0) > now ? null : { ...one, telling: now + TELLING_MS },
        );
        const told = claimed && (await this.#post(webhook, record, base));
        if (claimed)
          await changeWebhook(tasks, id, webhook, ({ telling: _, ...one }) =>
            told ? { ...one, told } : one,
          );
        if (!told) missed = true;
      }
      if (!missed && (mark === null || (await outbox.remove(id, mark)))) return;
      if (!missed) continue;
      if (tries === TRIES) return;
      await pause(AGAIN_MS * 4 ** (tries++ - 1), this.#o.stopping);
      if (this.#o.stopping.aborted) return;
    }
  }

  /** Whether the webhook took it. */
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

/** Whether the key that named the webhook still works. */
function mayTell({ key }: Webhook, { core, caller }: TaskService): Promise<boolean> {
  return core.keys.isValid({ ...caller, keyId: key ?? caller.keyId });
}

/** False where nothing changed: another webhook has taken its place, or `change` answered null. */
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

/** Of one that an earlier version kept nobody knows: it is told of what the task is now. */
function knownTo({ knows }: Webhook, { at }: TaskRecord): StateAt {
  return knows ?? { state: 'submitted', at };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
