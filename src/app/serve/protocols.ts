import type { RelayCore } from '../../domain/relay-core.ts';
import { StoreSecret } from '../../domain/store-secret.ts';
import type { A2AOverHttp } from '../../interfaces/a2a/http.ts';
import { hasOutboxEntries, type OutboxEntry } from '../../interfaces/a2a/webhook-outbox.ts';
import type { WebhookPost } from '../../interfaces/a2a/webhooks.ts';
import type { LogEvent } from '../../interfaces/http/deps.ts';
import type { McpHttpOptions, McpOverHttp } from '../../interfaces/mcp/http.ts';
import type { Protocol } from '../../interfaces/protocol.ts';

export interface ProtocolOptions {
  readonly core: RelayCore;
  readonly version: string;
  /** Whether a key is asked for; `open` by default. */
  readonly auth?: 'open' | 'keys';
  /** Posts to A2A's webhooks; asked for when the first agent asks for A2A. */
  webhooks(): Promise<WebhookPost>;
  /** Tests put the fixtures of the official MCP conformance suite in here. */
  readonly extendMcp?: McpHttpOptions['extend'];
  /** The largest message of a protocol: each is held whole, some of it several times. */
  readonly messageBytes?: number;
  /** Whether the program was replaced on the disk since it started. */
  replaced?(): boolean;
  log(event: LogEvent): void;
}

/** MCP over HTTP, loaded when the first client asks for it. */
export function mcpProtocol(
  { core, version, extendMcp, messageBytes, replaced, log }: Omit<ProtocolOptions, 'webhooks'>,
  stopping: AbortSignal,
): Protocol {
  let loading: Promise<McpOverHttp> | null = null;
  const load = async () => {
    const { mcpOverHttp } = await import('../../interfaces/mcp/http.ts');
    const onError = (error: unknown) => log({ level: 'warn', event: 'mcp', error: String(error) });
    const secret = new StoreSecret(core.deps);
    return mcpOverHttp({
      version,
      stopping,
      extend: extendMcp,
      texts: core.deps.texts,
      frameSecret: () => secret.bytes(),
      messageBytes,
      replaced,
      onError,
    });
  };
  return {
    routes: [['ALL', '/mcp']],
    answer: async (c, enter) => {
      loading ??= load();
      const answer = await loading;
      return answer(c.req.raw, await enter());
    },
  };
}

/** A2A, loaded when the first agent asks for it. */
export function a2aProtocol(
  { core, version, auth, messageBytes, webhooks, log }: ProtocolOptions,
  stopping: AbortSignal,
) {
  let loading: Promise<A2AOverHttp> | null = null;
  const load = async () => {
    const [{ a2aOverHttp }, out] = await Promise.all([import('../../interfaces/a2a/http.ts'), webhooks()]);
    return a2aOverHttp({
      core,
      version,
      keys: auth === 'keys',
      messageBytes,
      stopping,
      out,
      onError: (error) => log({ level: 'warn', event: 'a2a', error: String(error) }),
    });
  };
  const loaded = () => {
    loading ??= load();
    return loading;
  };
  return {
    routes: [
      ['GET', '/.well-known/agent-card.json'],
      ['GET', '/.well-known/agent.json'],
      ['ALL', '/a2a'],
      ['ALL', '/a2a/*'],
    ],
    answer: async (...asked) => (await loaded()).answer(...asked),
    /** Goes on with what servers before this one did not get to tell, or with some of it. Where nothing is left it costs one look. */
    resume: async (entries?: Iterable<OutboxEntry>) => {
      if (entries || (await hasOutboxEntries(core.deps))) await (await loaded()).resume(entries);
    },
  } satisfies Protocol & { resume(entries?: Iterable<OutboxEntry>): Promise<void> };
}
