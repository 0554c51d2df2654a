import { type ServerOptions, startServer } from '../../src/app/serve/serve.ts';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { type CoreOptions, RelayCore } from '../../src/domain/relay-core.ts';
import type { TextWork } from '../../src/domain/text-work.ts';
import type { LogEvent } from '../../src/interfaces/http/deps.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { openUnderTest } from '../engine-under-test.ts';

export interface RelayUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly core: RelayCore;
  readonly engine: Engine;
  readonly log: LogEvent[];
  /** Moves the relay's clock forward. */
  advance(ms: number): void;
  /** Ends the server and the core, but not the engine. */
  stop(): Promise<void>;
}

export interface RelayOptions {
  readonly open?: (env: Env) => Promise<Engine> | Engine;
  /** Time and chance to go by; those of the system by default. */
  readonly env?: Env;
  readonly core?: CoreOptions;
  /** In this process by default. */
  readonly texts?: TextWork;
  readonly server?: Partial<ServerOptions>;
}

/** A real server on a real socket over an engine, memory by default, with a clock that the test can move. */
export async function startRelay(o: RelayOptions = {}): Promise<RelayUnderTest> {
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
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await engine[Symbol.asyncDispose]();
    },
  };
}

/** Puts a core on a port of loopback and keeps what it logs. */
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

/** What came over the wire; a test says what should be in it. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what is being tested
export type Wire = any;

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
