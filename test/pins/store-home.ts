import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type Config, loadConfig } from '../../src/app/config.ts';
import { startServer } from '../../src/app/serve/serve.ts';
import { loadCapabilities } from '../../src/app/store/load-capabilities.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { ownTextWork } from '../../src/app/store/own-text-work.ts';
import { systemEnv } from '../../src/base/env.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import type { Wire } from '../http/relay-under-test.ts';
import { until } from '../until.ts';

export interface Question {
  readonly method?: string;
  readonly path: string;
  /** The API key to send. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body: an object is sent as JSON, text and bytes unchanged. */
  readonly body?: unknown;
  /** Number of events to wait for, if the answer is an event stream. */
  readonly take?: number;
}

export interface Answer {
  readonly status: number;
  readonly bytes: Buffer;
  readonly text: string;
  /** The parsed answer; null if it is not JSON. */
  readonly json: Wire;
  /** The headers that begin with `relay-`, which describe a pointer. */
  readonly about: { readonly [header: string]: string };
}

export interface ServedHome extends AsyncDisposable {
  readonly url: string;
  /** The log of the server. */
  readonly log: readonly Wire[];
  ask(question: Question): Promise<Answer>;
}

/**
 * Opens the home as the program does and serves it as `relay up` does. Store and domain read the time from `Date`, so a
 * test can fix the time by mocking `Date`.
 */
export async function serveHome(home: string): Promise<ServedHome> {
  const config = loadConfig({ RELAY_HOME: home });
  return serveCore(config, await openCore(config, 'server'));
}

/** Serves data that was copied from a home to another engine, with the configuration of the home. */
export async function serveEngine(home: string, engine: Engine): Promise<ServedHome> {
  const config = loadConfig({ RELAY_HOME: home });
  const { channels, plans, default_plan: defaultPlan } = config;
  const capabilities = () => loadCapabilities(config, () => {});
  const deps = { engine, env: systemEnv, texts: ownTextWork, capabilities };
  const auth = config.auth ?? 'open';
  const core = new RelayCore(deps, { channels, auth, plans, defaultPlan });
  const close = async () => {
    await core.close();
    await engine[Symbol.asyncDispose]();
  };
  return serveCore(config, { core, [Symbol.asyncDispose]: close });
}

async function serveCore(
  config: Config,
  opened: AsyncDisposable & { readonly core: RelayCore },
): Promise<ServedHome> {
  const { index } = (await opened.core.threads()).log;
  // Wait until artifacts that an earlier version indexed only partly are indexed again.
  for (const tenant of ['local', 'acme'])
    await until(async () => (await index.unsearched(tenant, null)) === undefined);
  const log: Wire[] = [];
  const server = await startServer({
    core: opened.core,
    host: '127.0.0.1',
    port: 0,
    version: 'fixture',
    publicUrl: config.publicUrl,
    allowedHosts: [],
    auth: config.auth ?? 'open',
    loopbackWebhooks: true,
    log: (event) => log.push(event),
  });
  return {
    url: server.url,
    log,
    ask: (question) => ask(server.url, question),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
}

/** Timeout of an answer in ms. It is so long that only a missing answer exceeds it. */
const PATIENCE_MS = 10_000;

async function ask(base: string, question: Question): Promise<Answer> {
  const { method = 'GET', path, key, headers = {}, body, take } = question;
  const raw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const stop = new AbortController();
  const response = await fetch(base + path, {
    method,
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(PATIENCE_MS)]),
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(raw ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
  });
  const { status } = response;
  if (take !== undefined && status === 200) {
    const json = await takeEvents(response, take);
    stop.abort();
    return { status, bytes: Buffer.alloc(0), text: '', json, about: {} };
  }
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString();
  const about = [...response.headers].filter(([name]) => name.startsWith('relay-'));
  return { status, bytes, text, json: parsed(text), about: Object.fromEntries(about) };
}

async function takeEvents(response: Response, count: number): Promise<Wire[]> {
  const events: Wire[] = [];
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body!) {
    rest += decoder.decode(chunk, { stream: true });
    const frames = rest.split('\n\n');
    rest = frames.pop()!;
    for (const frame of frames) {
      const data = frame.split('\n').find((line) => line.startsWith('data:'));
      if (data) events.push(JSON.parse(data.slice(5)));
      if (events.length === count) return events;
    }
  }
  return events;
}

function parsed(text: string): Wire {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Packs a folder into one gzipped file: a line of JSON with paths and sizes, then the contents. */
export function packFolder(folder: string): Buffer {
  const paths = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
  const contents = paths.map((path) => readFileSync(join(folder, path)));
  const index = paths.map((path, i) => [path.split(sep).join('/'), contents[i]!.byteLength]);
  return gzipSync(Buffer.concat([Buffer.from(`${JSON.stringify(index)}\n`), ...contents]), { level: 9 });
}

export function unpackFolder(packed: Uint8Array, folder: string): void {
  const bytes = gunzipSync(packed);
  let at = bytes.indexOf(0x0a) + 1;
  const index: [path: string, size: number][] = JSON.parse(bytes.subarray(0, at).toString());
  for (const [path, size] of index) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    writeFileSync(target, bytes.subarray(at, at + size), { mode: 0o600 });
    at += size;
  }
}
