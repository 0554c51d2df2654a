import { type ServerOptions, startServer } from '../../src/app/serve/serve.ts';
import { type Env, systemEnv } from '../../src/base/env.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { CreatedKey, NewKey } from '../../src/contract/keys.ts';
import { type CoreOptions, RelayCore } from '../../src/domain/relay-core.ts';
import { openMemory } from '../../src/engines/memory/engine.ts';
import type { LogEvent } from '../../src/interfaces/http/deps.ts';
import type { Engine } from '../../src/kernel/engine.ts';

/** What came over the wire; a test says what should be in it. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what is being tested
export type Wire = any;

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Wire;
}

export interface GuardedRelay extends AsyncDisposable {
  readonly url: string;
  readonly core: RelayCore;
  readonly engine: Engine;
  readonly log: LogEvent[];
  advance(ms: number): void;
  key(input?: Partial<NewKey>): Promise<CreatedKey>;
  ask(method: string, path: string, o?: AskOptions): Promise<Asked>;
  stop(): Promise<void>;
}

export interface AskOptions {
  readonly key?: string | CreatedKey;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface GuardedOptions {
  readonly server?: Partial<ServerOptions>;
  readonly core?: CoreOptions;
  readonly open?: (env: Env) => Promise<Engine> | Engine;
  /** Time and chance to go by; those of the system by default. */
  readonly env?: Env;
}

/** A real server that asks for keys, with a clock that the test can move. */
export async function startGuarded(o: GuardedOptions = {}): Promise<GuardedRelay> {
  let shift = 0;
  const source = o.env ?? systemEnv;
  const env: Env = { ...source, now: () => source.now() + shift };
  const engine = await (o.open ?? ((clock) => openMemory({ env: clock })))(env);
  const tokens = {
    count: async (text: string) => (await import('../../src/text/token-count.ts')).countTokens(text),
  };
  const core = new RelayCore({ engine, env, tokens }, { auth: 'keys', ...o.core });
  const log: LogEvent[] = [];
  const server = await startServer({
    core,
    host: '127.0.0.1',
    port: 0,
    version: 'test',
    publicUrl: null,
    allowedHosts: [],
    auth: 'keys',
    log: (event) => log.push(event),
    ...o.server,
  });
  const stop = async () => {
    await server.stop();
    await core.close();
  };
  return {
    url: server.url,
    core,
    engine,
    log,
    advance: (ms) => {
      shift += ms;
    },
    key: (input = {}) => core.keys.create(LOCAL_CALLER, { name: 'test', tenant: 'acme', ...input }),
    ask: (method, path, options) => ask(server.url, method, path, options),
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await engine[Symbol.asyncDispose]();
    },
  };
}

export async function ask(
  base: string,
  method: string,
  path: string,
  { key, body, headers = {} }: AskOptions = {},
): Promise<Asked> {
  const secret = typeof key === 'object' ? key.key : key;
  const raw = body instanceof Uint8Array || typeof body === 'string' || body === undefined;
  const response = await fetch(base + path, {
    method,
    headers: {
      ...(secret ? { Authorization: `Bearer ${secret}` } : {}),
      ...(raw ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

function parsed(text: string): Wire {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
