import { WEBHOOK_TIME_MS, WORKER_MESSAGE_BYTES } from '../../base/limits.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import type { WebhookPost } from '../../interfaces/a2a/webhooks.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';

declare const RELAY_VERSION: string;

export const version = RELAY_VERSION;

export function protocolOptions(core: RelayCore, bindings: RelayBindings) {
  const { auth } = workerConfig(bindings);
  return { core, version, auth, messageBytes: WORKER_MESSAGE_BYTES, webhooks, log };
}

/** A Worker has no network of its own that a webhook could be in. */
const webhooks = async (): Promise<WebhookPost> => ({
  async check(text) {
    if (!URL.canParse(text)) throw new Error('that is no URL');
  },
  async post(text, { headers, body }) {
    const signal = AbortSignal.timeout(WEBHOOK_TIME_MS);
    const answer = await fetch(text, { method: 'POST', headers, body, redirect: 'manual', signal });
    if (!answer.ok) throw new Error(`The webhook at ${new URL(text).host} answered ${answer.status}.`);
  },
});

export function log(event: LogEvent): void {
  console[event.level === 'info' ? 'log' : event.level](JSON.stringify(event));
}
