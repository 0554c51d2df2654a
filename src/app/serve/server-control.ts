import { resolve } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { CreatedKey } from '../../contract/keys.ts';
import type { Cluster, PortTaken, ServeOptions, ServerControl } from '../../interfaces/cli/host.ts';
import { type Config, type Environment, loadConfig, readEngineFile } from '../config.ts';
import { bucketAddress, maskPassword, readValue } from '../option-readers.ts';
import type { Warn } from '../store/open-core.ts';
import { storeAddress } from '../store/remote-engines.ts';
import { authOf, exposedAs, localHost, reachableAt } from './addresses.ts';
import { isAlive, readServerRecord, releaseServer, runningServer, type ServerRecord } from './pid-file.ts';

const STOP_TIMEOUT_MS = 15_000;
/** Timeout in ms for asking a program on a taken port of this machine whether it is a relay. */
const NEIGHBOUR_TIMEOUT_MS = 1000;

/**
 * Starts, finds and stops the server of a home. Starting a server loads the code that only a server needs.
 */
export function serverControl(config: Config, env: Environment, warn?: Warn): ServerControl {
  const { home } = config;
  return {
    defaults: { host: config.host, port: config.port, publicUrl: config.public_url ?? undefined },
    running: () => runningServer(home),
    leftBehind: () => (runningServer(home) === null ? readServerRecord(home) : null),
    asksForKeys: (o) => authOf(config, o) === 'keys',
    exposedAs: (o) => exposedAs(config, o),
    cluster: (o) => clusterOf(withStore(config, o), env),
    firstKey: (o) => firstKey(withStore(config, o), warn),
    serve: async (o) =>
      (await import('./serve-home.ts')).serveHome(withStore(config, o), o, authOf(config, o)),
    detach: async (o) => (await import('./detach.ts')).detachServer(withStore(config, o), env, o),
    reachableAt: async (host, url) => reachableAt(host, url),
    stop: (server, o) => stop(home, server as ServerRecord, o.force),
    health: async (url) => (await import('./port-owner.ts')).fetchHealth(url),
    portTaken,
  };
}

/** Returns the configuration, with the engine and the bucket of the command line if given. */
function withStore(config: Config, { engine, engineFile, blobs }: ServeOptions): Config {
  const named =
    engineFile === undefined
      ? engine && readValue('--engine', storeAddress, engine)
      : readEngineFile(resolve(engineFile));
  return {
    ...config,
    engine: named ?? config.engine,
    blobs: blobs === undefined ? config.blobs : readValue('--blobs', bucketAddress, blobs),
  };
}

/**
 * Returns the cluster of the server, or null if the store is in the home folder. `isKnown` is false if the login of
 * the cluster is only in a flag or a variable. Commands in other terminals then cannot find the login.
 */
function clusterOf({ engine, home }: Config, env: Environment): Cluster | null {
  if (engine === null) return null;
  const written = loadConfig({ ...env, RELAY_ENGINE: '', RELAY_ENGINE_FILE: '' }, { home }).engine;
  const maskedEngine = maskPassword(engine);
  return { shown: maskedEngine, isKnown: maskedEngine === engine || written === engine };
}

async function firstKey(config: Config, warn: Warn | undefined): Promise<CreatedKey | null> {
  const { openCore } = await import('../store/open-core.ts');
  await using open = await openCore(config, 'cli', { auth: 'keys', warn });
  return await open.core.keys.createFirst();
}

async function stop(home: string, server: ServerRecord, force: boolean): Promise<boolean> {
  const gone = async () => {
    const until = Date.now() + STOP_TIMEOUT_MS;
    while (isAlive(server) && Date.now() <= until) await pause(20);
    return !isAlive(server);
  };
  signal(server.pid, 'SIGTERM');
  let ended = await gone();
  if (!ended && force) {
    signal(server.pid, 'SIGKILL');
    ended = await gone();
  }
  if (ended) releaseServer(home, server.pid);
  return ended;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ESRCH') return;
    throw new RelayError('failed', {
      what: `The relay with pid ${pid} belongs to another user.`,
      hint: 'Run relay down as that user.',
    });
  }
}

async function portTaken({ host, port }: ServeOptions): Promise<PortTaken | null> {
  const { fetchHealth, nextFreePort, portOwner, tryPort } = await import('./port-owner.ts');
  if ((await tryPort(host, port)) !== 'taken') return null;
  const [owner, health, free] = await Promise.all([
    portOwner(port),
    fetchHealth(`http://${localHost(host)}:${port}`, NEIGHBOUR_TIMEOUT_MS),
    nextFreePort(host, port + 1),
  ]);
  const who = owner ? `pid ${owner.pid}` : '';
  const what = health ? `a relay${health.version ? ` ${health.version}` : ''}` : (owner?.command ?? '');
  const by = what ? `by ${what}${who ? ` (${who})` : ''}` : '';
  return { by, relay: health !== null, free };
}
