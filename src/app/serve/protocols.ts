import { lazily } from '../../base/lazily.ts';
import type { RelayCore } from '../../domain/relay-core.ts';
import { storeSecret } from '../../domain/store-secret.ts';
import { hasOutboxEntries } from '../../interfaces/a2a/outbox-records.ts';
import type { WebhookPost } from '../../interfaces/a2a/webhooks.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import type { McpHttpOptions } from '../../interfaces/mcp/http.ts';
import type { Protocol } from '../../interfaces/protocol.ts';

export interface ProtocolOptions {
  readonly core: RelayCore;
  readonly version: string;
  /** `keys` if an API key is required. Default: `open`. */
  readonly auth?: 'open' | 'keys';
  /** Loads the function that posts to A2A webhooks. The server calls `webhooks` at the first A2A request. */
  webhooks(): Promise<WebhookPost>;
  /** Adds fixtures of the official MCP conformance suite, for tests. */
  readonly extendMcp?: McpHttpOptions['extend'];
  /** Maximum size of a protocol message in bytes. It is held in memory, sometimes more than once. */
  readonly messageBytes?: number;
  /** Returns whether the program was replaced on disk after it started. */
  replaced?(): boolean;
  log(event: LogEvent): void;
}

/** Returns MCP over HTTP. Its code is loaded at the first request. */
export function mcpProtocol(o: Omit<ProtocolOptions, 'webhooks'>, stopping: AbortSignal): Protocol {
  const loaded = lazily(async () => {
    const { mcpOverHttp } = await import('../../interfaces/mcp/http.ts');
    const { deps } = o.core;
    return mcpOverHttp({
      ...o,
      stopping,
      extend: o.extendMcp,
      texts: deps.texts,
      frameSecret: storeSecret(deps),
      onError: warner(o, 'mcp'),
    });
  });
  return {
    routes: [['ALL', '/mcp']],
    answer: async (c, authenticate) => (await loaded())(c.req.raw, await authenticate()),
  };
}

/** Returns A2A over HTTP. Its code is loaded at the first request. */
export function a2aProtocol(o: ProtocolOptions, stopping: AbortSignal) {
  const loaded = lazily(async () => {
    const [{ a2aOverHttp }, out] = await Promise.all([import('../../interfaces/a2a/http.ts'), o.webhooks()]);
    return a2aOverHttp({ ...o, keys: o.auth === 'keys', stopping, out, onError: warner(o, 'a2a') });
  });
  return {
    routes: [
      ['GET', '/.well-known/agent-card.json'],
      ['GET', '/.well-known/agent.json'],
      ['ALL', '/a2a'],
      ['ALL', '/a2a/*'],
    ],
    answer: async (...args) => (await loaded()).answer(...args),
    /** Sends the notifications that earlier servers did not deliver. If no notification waits, this costs one read. */
    resume: async () => {
      if (await hasOutboxEntries(o.core.deps)) await (await loaded()).resume();
    },
  } satisfies Protocol & { resume(): Promise<void> };
}

function warner({ log }: Pick<ProtocolOptions, 'log'>, event: string): (error: unknown) => void {
  return (error) => log({ level: 'warn', event, error: String(error) });
}
