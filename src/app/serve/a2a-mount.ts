import type { RelayCore } from '../../domain/relay-core.ts';
import type { A2AOverHttp } from '../../interfaces/a2a/http.ts';
import { hasOutboxEntries } from '../../interfaces/a2a/webhook-outbox.ts';
import type { Protocol } from '../../interfaces/http/app.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';

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
export function a2aMount({ core, version, keys, stopping, ...o }: A2AMountOptions): A2AMount {
  const load = async () => {
    const [{ a2aOverHttp }, { webhookPost }] = await Promise.all([
      import('../../interfaces/a2a/http.ts'),
      import('./webhook-post.ts'),
    ]);
    return a2aOverHttp({
      core,
      version,
      keys,
      stopping,
      out: webhookPost({ allowPrivate: o.privateWebhooks }),
      onError: (error) => o.log({ level: 'warn', event: 'a2a', error: String(error) }),
      baseOf: (c) => o.publicUrl ?? new URL(c.req.url).origin,
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
      if (await hasOutboxEntries(core.deps)) await (await loaded()).resume();
    },
  };
}
