import { startServer } from '../../src/app/serve/serve.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import { openMemory } from '../../src/engines/memory/engine.ts';
import type { LogEvent } from '../../src/interfaces/http/deps.ts';
import type { McpExtension } from '../../src/interfaces/mcp/server.ts';
import type { Engine } from '../../src/kernel/engine.ts';

export interface RelayUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly core: RelayCore;
  readonly engine: Engine;
  readonly log: LogEvent[];
  /** Moves the relay's clock forward. */
  advance(ms: number): void;
}

/** A real server on a real socket over an engine, memory by default, with a clock that the test can move. */
export async function startRelay(
  o: {
    open?: (env: Env) => Promise<Engine> | Engine;
    extendMcp?: McpExtension;
    privateWebhooks?: boolean;
    /** Time and chance to go by; those of the system by default. */
    env?: Env;
  } = {},
): Promise<RelayUnderTest> {
  let shift = 0;
  const source = o.env ?? systemEnv;
  const env: Env = { ...source, now: () => source.now() + shift };
  const engine = await (o.open ?? ((clock) => openMemory({ env: clock })))(env);
  const tokens = {
    count: async (text: string) => (await import('../../src/text/token-count.ts')).countTokens(text),
  };
  const core = new RelayCore({ engine, env, tokens });
  const log: LogEvent[] = [];
  const server = await startServer({
    core,
    host: '127.0.0.1',
    port: 0,
    version: 'test',
    publicUrl: null,
    allowedHosts: [],
    extendMcp: o.extendMcp,
    privateWebhooks: o.privateWebhooks,
    log: (event) => log.push(event),
  });
  return {
    url: server.url,
    core,
    engine,
    log,
    advance: (ms) => {
      shift += ms;
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await engine[Symbol.asyncDispose]();
    },
  };
}

export interface PushAnswer {
  url: string;
  id: string;
  channel: string | null;
  expires_at: string;
  size: number;
}

export async function pushRaw(
  relay: RelayUnderTest,
  body: BodyInit,
  query = '',
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${relay.url}/push${query}`, { method: 'POST', body, headers });
  return { response, answer: (await response.json()) as PushAnswer };
}

export async function pushJson(relay: RelayUnderTest, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${relay.url}/push`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', ...headers },
  });
  return { response, answer: (await response.json()) as PushAnswer };
}

export interface Failure {
  error: string;
  code: string;
  hint: string;
}
