import { type ServerOptions, startServer } from '../../src/app/serve/serve.ts';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import type { LogEvent } from '../../src/interfaces/http/deps.ts';
import { openUnderTest } from '../engine-under-test.ts';
import type { RelayOptions, RelayUnderTest } from './relay-options.ts';

export type { RelayOptions, RelayUnderTest };

/**
 * Starts a real server on a real socket, with a clock that the test can move. The engine is in memory by default. With
 * RELAY_TEST_ENGINE=cloudflare, starts a Worker instead if it supports the options.
 */
export async function startRelay(o: RelayOptions = {}): Promise<RelayUnderTest> {
  if (process.env.RELAY_TEST_ENGINE === 'cloudflare') {
    const worker = await (await import('../cloudflare/worker-relay.ts')).startOnWorker(o);
    if (worker) return worker;
  }
  let shift = 0;
  const source = o.env ?? systemEnv;
  const env: Env = { ...source, now: () => source.now() + shift };
  const engine = await (o.open ?? ((clock) => openUnderTest(clock)))(env);
  const core = new RelayCore({ engine, env, texts: o.texts ?? ownTextWork }, o.core);
  const served = await serve(core, o.server);
  const stop = async () => {
    await served.stop();
    await core.close();
  };
  return {
    url: served.url,
    log: served.log,
    core,
    engine,
    advance: (ms) => {
      shift += ms;
    },
    async settle() {
      await core.background.settle();
      await (await core.threads()).log.background.settle();
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await engine[Symbol.asyncDispose]();
    },
  };
}

/** Serves a `RelayCore` on a loopback port and keeps its log lines. */
export async function serve(
  core: RelayCore,
  o: Partial<ServerOptions> = {},
): Promise<Pick<RelayUnderTest, 'url' | 'log' | 'stop'>> {
  const log: LogEvent[] = [];
  const server = await startServer({
    core,
    host: '127.0.0.1',
    port: 0,
    version: 'test',
    publicUrl: null,
    allowedHosts: [],
    log: (event) => log.push(event),
    ...o,
  });
  return { url: server.url, log, stop: () => server.stop() };
}

/** A response body of any shape. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what is being tested
export type Wire = any;

export interface PushAnswer {
  url: string;
  id: string;
  readonly handle?: string;
  channel: string | null;
  expires_at: string;
  size: number;
  readonly excerpt?: string;
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
