import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
/** Path of the command line in the published package. */
export const RELAY = join(ROOT, 'dist', 'cli', 'relay.js');

/** A server in its own process. Disposing it deletes its folder. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly folder: string;
}

export function startRelay(...flags: string[]): Promise<Server> {
  return start((home) => [RELAY, 'up', '--port', '0', '--home', home, ...flags]);
}

/** Starts a relay on an existing store and deletes the store at the end. */
export function startRelayOn(home: string, env: NodeJS.ProcessEnv = {}): Promise<Server> {
  return start(() => [RELAY, 'up', '--port', '0', '--home', home], { folder: home, env });
}

/** Starts a relay that reports how long its event loop was blocked (see loop-watch.ts). */
export function startWatchedRelay(figures: string): Promise<Server> {
  const watch = join(import.meta.dirname, 'loop-watch.ts');
  const env = { NODE_OPTIONS: `--import ${watch}`, BENCH_LOOP_FIGURES: figures };
  return start((home) => [RELAY, 'up', '--port', '0', '--home', home], { env });
}

export function startBare(): Promise<Server> {
  return start((folder) => [join(import.meta.dirname, 'bare-server.ts'), folder]);
}

/** Starts the minimal WebSocket server, which announces every posted body to all sockets. */
export function startBareSockets(): Promise<Server> {
  return start(() => [join(import.meta.dirname, 'bare-sockets.ts')]);
}

/** Starts a Redis that syncs its log before it answers, or returns null if Redis is not installed. */
export async function startRedis(): Promise<Server | null> {
  if (spawnSync('redis-server', ['--version']).error) return null;
  // Redis does not support port 0, so find a free port first.
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const settings = ['--appendonly yes', '--appendfsync always', '--auto-aof-rewrite-percentage 0'];
  return start(
    (folder) => ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings],
    { program: 'redis-server', ready: /Ready to accept connections/, url: `redis://127.0.0.1:${port}` },
  );
}

/** Creates a folder in the clone, because on many machines /tmp is in memory and fsync costs nothing there. */
export function benchFolder(): string {
  const parent = join(ROOT, 'node_modules', '.cache');
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, 'bench-'));
}

/** Creates a folder like `benchFolder`. Disposing the returned object deletes the folder. */
export function temporaryFolder() {
  const path = benchFolder();
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Returns an environment without variables that would change what is measured. */
export function plainEnv(): NodeJS.ProcessEnv {
  const { CONTEXTRELAY_URL: _url, CONTEXTRELAY_API_KEY: _key, RELAY_HOME: _home, ...env } = process.env;
  return env;
}

interface Start {
  readonly program?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly folder?: string;
  /** Matches the line that the server prints when it is ready; its first group is the URL. */
  readonly ready?: RegExp;
  readonly url?: string;
}

export async function start(args: (folder: string) => string[], o: Start = {}): Promise<Server> {
  const { program = process.execPath, folder = benchFolder(), ready = /listening on (http:\S+)/ } = o;
  const child = spawn(program, args(folder), {
    env: { ...plainEnv(), ...o.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
  });
  const close = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    let output = '';
    const url = await new Promise<string>((resolve, reject) => {
      const read = (text: string) => {
        output += text;
        const match = ready.exec(output);
        if (match) resolve(o.url ?? match[1]!);
      };
      child.stdout.setEncoding('utf8').on('data', read);
      child.stderr.setEncoding('utf8').on('data', read);
      child.once('error', reject);
      void ended.then(() => reject(new Error(`The server did not start:\n${output}`)));
    });
    return { url, pid: child.pid!, folder, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}
