import { isLoopback } from '../../base/address.ts';
import { RelayError } from '../../base/errors.ts';
import type { CreatedKey } from '../../contract/keys.ts';
import type { PortTaken, ServeOptions, ServerControl, Serving } from '../../interfaces/cli/host.ts';
import type { Config, Environment } from '../config.ts';
import { packageVersion } from '../version.ts';
import {
  claimServer,
  isAlive,
  readServerRecord,
  releaseServer,
  runningServer,
  type ServerRecord,
} from './pid-file.ts';

const STOP_PATIENCE_MS = 15_000;
/** Whoever holds the port is on this machine and answers soon, if it is a relay. */
const NEIGHBOUR_PATIENCE_MS = 1000;

/** Starts, finds and stops the server of a home. What only a server needs is loaded when one is started. */
export function serverControl(config: Config, env: Environment): ServerControl {
  const { home } = config;
  return {
    defaults: { host: config.host, port: config.port },
    running: () => runningServer(home),
    leftBehind: () => (runningServer(home) === null ? readServerRecord(home) : null),
    asksForKeys: (o) => authOf(config, o) === 'keys',
    firstKey: () => firstKey(config),
    serve: (o) => serve(config, o),
    detach: async (o) => {
      return (await import('./detach.ts')).detachServer(config, env, o);
    },
    stop: (server, o) => stop(home, server as ServerRecord, o.force),
    health: async (url) => (await import('./server-health.ts')).askHealth(url),
    portTaken: (o) => portTaken(o),
  };
}

async function serve(config: Config, o: ServeOptions): Promise<Serving> {
  const [{ startServer }, { openCore }, { networkOptions }] = await Promise.all([
    import('./serve.ts'),
    import('../store/open-core.ts'),
    import('./network-options.ts'),
  ]);
  const auth = authOf(config, o);
  const network = networkOptions(config, o, auth);
  const core = await openCore(config, 'server', auth);
  const stopMetering = network.meter(core.core);
  const version = packageVersion();
  try {
    const server = await startServer({ ...network.server, core: core.core, version });
    const other = claimServer(config.home, {
      pid: process.pid,
      url: server.url,
      version,
      started_at: new Date().toISOString(),
      log: config.logFile,
      auth,
    });
    if (other !== null) {
      await server.stop();
      throw new RelayError('failed', {
        what: `A relay already serves this home: ${other.url} (pid ${other.pid}).`,
        hint: 'Stop it with: relay down. Or give this one a home of its own with --home DIR.',
      });
    }
    let tellStopped = () => {};
    let tellFailed: (error: unknown) => void = () => {};
    const stopped = new Promise<void>((resolve, reject) => {
      tellStopped = resolve;
      tellFailed = reject;
    });
    const end = async () => {
      await server.stop();
      releaseServer(config.home, process.pid);
      await core[Symbol.asyncDispose]();
      await stopMetering();
      network.flush();
    };
    return { url: server.url, stopped, stop: () => void end().then(tellStopped, tellFailed) };
  } catch (error) {
    await core[Symbol.asyncDispose]();
    throw listenError(error, o);
  }
}

/** Open on loopback, keys everywhere else, unless somebody said what they want. */
function authOf(config: Config, o: ServeOptions): 'open' | 'keys' {
  if (o.auth) return 'keys';
  if (o.open) return 'open';
  return config.server.auth ?? (isLoopback(o.host) ? 'open' : 'keys');
}

async function firstKey(config: Config): Promise<CreatedKey | null> {
  const { openCore } = await import('../store/open-core.ts');
  await using open = await openCore(config, 'cli', 'keys');
  return await open.core.keys.createFirst();
}

function listenError(error: unknown, { host, port }: ServeOptions): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new RelayError('port_taken', { host, port, by: '' }, error);
    case 'EACCES':
      return new RelayError('failed', {
        what: `You may not listen on port ${port}.`,
        hint: 'Take one from 1024 up, such as: relay up --port 7474',
      });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new RelayError('failed', {
        what: `${host} is not an address of this machine.`,
        hint: 'Use 127.0.0.1 for this machine alone, 0.0.0.0 for all its addresses.',
      });
    default:
      return error;
  }
}

async function stop(home: string, server: ServerRecord, force: boolean): Promise<boolean> {
  const gone = async () => {
    const until = Date.now() + STOP_PATIENCE_MS;
    while (isAlive(server)) {
      if (Date.now() > until) return false;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return true;
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
      hint: 'Ask whoever started it, or stop it as that user.',
    });
  }
}

async function portTaken({ host, port }: ServeOptions): Promise<PortTaken | null> {
  const { nextFreePort, portOwner, tryPort } = await import('./port-owner.ts');
  if ((await tryPort(host, port)) !== 'taken') return null;
  const { askHealth } = await import('./server-health.ts');
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const [owner, health, free] = await Promise.all([
    portOwner(port),
    askHealth(`http://${name}:${port}`, NEIGHBOUR_PATIENCE_MS),
    nextFreePort(host, port + 1),
  ]);
  const who = owner ? `pid ${owner.pid}` : '';
  const what = health ? `a relay${health.version ? ` ${health.version}` : ''}` : (owner?.command ?? '');
  const by = what ? `by ${what}${who ? ` (${who})` : ''}` : '';
  return { by, relay: health !== null, free };
}
