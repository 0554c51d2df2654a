import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
/** The command line as it is published. */
export const RELAY = join(ROOT, 'dist', 'cli', 'relay.js');

/** A server in a process of its own, with a folder of its own that goes when it goes. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly folder: string;
}

export function startRelay(...flags: string[]): Promise<Server> {
  return start((home) => [RELAY, 'up', '--port', '0', '--home', home, ...flags]);
}

/** On a store that is there already; it goes with the server. */
export function startRelayOn(home: string, env: NodeJS.ProcessEnv = {}): Promise<Server> {
  return start(() => [RELAY, 'up', '--port', '0', '--home', home], { folder: home, env });
}

/** A relay that tells how long it was busy at a time: see loop-watch.ts. */
export function startWatchedRelay(figures: string): Promise<Server> {
  const watch = join(import.meta.dirname, 'loop-watch.ts');
  const env = { NODE_OPTIONS: `--import ${watch}`, BENCH_LOOP_FIGURES: figures };
  return start((home) => [RELAY, 'up', '--port', '0', '--home', home], { env });
}

export function startBare(): Promise<Server> {
  return start((folder) => [join(import.meta.dirname, 'bare-server.ts'), folder]);
}

/** The least a WebSocket server can do: whatever is posted is announced to everyone. */
export function startBareSockets(): Promise<Server> {
  return start(() => [join(import.meta.dirname, 'bare-sockets.ts')]);
}

/** One that syncs its log before it answers; null where it is not installed. */
export async function startRedis(): Promise<Server | null> {
  if (spawnSync('redis-server', ['--version']).error) return null;
  // It takes no port 0 for any that is free.
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

/** In the clone and not in /tmp, which is memory on many machines, where a sync costs nothing. */
export function benchFolder(): string {
  const parent = join(ROOT, 'node_modules', '.cache');
  mkdirSync(parent, { recursive: true });
  return mkdtempSync(join(parent, 'bench-'));
}

/** Nothing from the outside may steer what is measured. */
export function plainEnv(): NodeJS.ProcessEnv {
  const { CONTEXTRELAY_URL: _url, CONTEXTRELAY_API_KEY: _key, RELAY_HOME: _home, ...env } = process.env;
  return env;
}

interface Start {
  readonly program?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly folder?: string;
  /** What it prints when it can be asked, and where, if it does not say so itself. */
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
        const found = ready.exec(output);
        if (found) resolve(o.url ?? found[1]!);
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
