import { StreamResponse } from '@a2a-js/sdk';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { changes } from './agent.ts';
import type { TaskDesk } from './task-desk.ts';
import { type TaskRecord, toTask, type Webhook } from './task-record.ts';

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

/** Tells webhooks how tasks go on, as long as this server runs; one follower for each task. */
export class Webhooks {
  readonly #o: WebhooksOptions;
  readonly #followed = new Set<string>();

  constructor(o: WebhooksOptions) {
    this.#o = o;
  }

  async check(url: string): Promise<void> {
    try {
      await this.#o.out.check(url);
    } catch (error) {
      throw new RequestMalformedError(`This webhook is refused: ${(error as Error).message}`);
    }
  }

  follow(record: TaskRecord, desk: TaskDesk, base: string): void {
    if (this.#followed.has(record.id)) return;
    this.#followed.add(record.id);
    this.#tell(record, desk, base)
      .catch(this.#o.onError)
      .finally(() => this.#followed.delete(record.id));
  }

  async #tell(first: TaskRecord, desk: TaskDesk, base: string): Promise<void> {
    let begun = false;
    for await (const record of desk.follow(first, this.#o.stopping)) {
      if (begun) {
        const { webhooks } = await desk.find(record.id);
        for (const change of changes(record, base)) {
          for (const webhook of webhooks) await this.#post(webhook, change, record, base);
        }
      }
      begun = true;
    }
  }

  async #post(webhook: Webhook, change: StreamResponse, record: TaskRecord, base: string): Promise<void> {
    const { url, token, authentication } = webhook.config;
    const { body, contentType } =
      webhook.version === '0.3'
        ? new V03PushNotificationSerializer().serialize(change, toTask(record, base))
        : { body: JSON.stringify(StreamResponse.toJSON(change)), contentType: 'application/a2a+json' };
    const headers: Record<string, string> = { 'Content-Type': contentType };
    if (token) headers['X-A2A-Notification-Token'] = token;
    if (authentication?.scheme && authentication.credentials)
      headers.Authorization = `${authentication.scheme} ${authentication.credentials}`;
    try {
      await this.#o.out.post(url, { headers, body });
    } catch (error) {
      this.#o.onError(error);
    }
  }
}
