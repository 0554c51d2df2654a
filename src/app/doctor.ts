import { existsSync, statSync } from 'node:fs';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRelayError } from '../base/errors.ts';
import type { Check, Host } from '../interfaces/cli/host.ts';
import { bytes, span } from '../interfaces/cli/human.ts';
import type { Config } from './config.ts';

/** The oldest Node with everything the program uses. */
const NODE = [22, 16] as const;
const LITTLE_SPACE = 1024 ** 3;
const NO_SPACE = 64 * 1024 ** 2;
const CLOCK_TOLERANCE_MS = 120_000;

type Found = Omit<Check, 'name'>;

/** Tries everything a user relies on. `config` throws where the configuration is wrong. */
export async function* diagnose(host: Host, config: () => Config): AsyncGenerator<Check> {
  yield { name: 'node', ...checkNode() };
  const read = attempt(config);
  if ('error' in read) {
    yield { name: 'configuration', ...wrong(read.error) };
    return;
  }
  yield { name: 'configuration', state: 'ok', found: describe(read.value) };
  if (host.remote !== null) {
    yield { name: 'server', ...(await checkRemote(host, host.remote)) };
    yield { name: 'round trip', ...(await guarded(() => roundTrip(host))) };
    return;
  }
  yield { name: 'home', ...checkHome(host.home) };
  yield { name: 'store', ...(await guarded(() => checkStore(host))) };
  yield { name: 'round trip', ...(await guarded(() => roundTrip(host))) };
  yield { name: 'disk', ...(await guarded(() => checkDisk(host.home))) };
  yield { name: 'clock', ...(await guarded(() => checkClock(host.home))) };
  yield { name: 'server', ...(await guarded(() => checkServer(host, read.value))) };
}

function checkNode(): Found {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fine = major > NODE[0] || (major === NODE[0] && minor >= NODE[1]);
  const found = `${process.version} at ${process.execPath}`;
  return fine
    ? { state: 'ok', found }
    : { state: 'wrong', found, fix: `install Node ${NODE.join('.')} or newer` };
}

function describe(config: Config): string {
  const file = join(config.home, 'config.json');
  return existsSync(file) ? `read from ${file}` : `all defaults (there is no ${file})`;
}

function checkHome(home: string): Found {
  if (!existsSync(home)) return { state: 'ok', found: `${home} will be made when it is first used` };
  const stat = statSync(home);
  if (process.platform === 'win32') return { state: 'ok', found: home };
  if (process.getuid && stat.uid !== process.getuid()) {
    return {
      state: 'wrong',
      found: `${home} belongs to another user`,
      fix: `sudo chown -R "$USER" ${quote(home)}`,
    };
  }
  if ((stat.mode & 0o077) !== 0) {
    return { state: 'wrong', found: `others can look into ${home}`, fix: `chmod 700 ${quote(home)}` };
  }
  return { state: 'ok', found: `${home}, for you alone` };
}

async function checkStore(host: Host): Promise<Found> {
  await using store = await host.openStore();
  const usage = await store.usage();
  return {
    state: 'ok',
    found: `opens; holds ${usage.blobs.count} payloads, ${bytes(usage.diskBytes)} on disk`,
  };
}

/** A small text goes in, comes out as it was, and is gone afterwards. */
async function roundTrip(host: Host): Promise<Found> {
  const text = `relay doctor ${Date.now()} ☂`;
  await using open = await host.openClient();
  const { client } = open;
  const url = await client.push(text, { ttl: 60, metadata: { from: 'relay doctor' } });
  const back = await client.pull(url);
  await client.delete(url);
  if (back !== text)
    return { state: 'wrong', found: 'what came back is not what was pushed', fix: 'relay status' };
  return { state: 'ok', found: 'pushed, pulled and deleted a message' };
}

async function checkDisk(home: string): Promise<Found> {
  const { bavail, bsize } = await statfs(home);
  const free = bavail * bsize;
  const found = `${bytes(free)} free`;
  if (free > LITTLE_SPACE) return { state: 'ok', found };
  const fix = 'free some space; relay prune gives back what has expired';
  return { state: free > NO_SPACE ? 'warning' : 'wrong', found, fix };
}

/** Expiry goes by the clock: it must agree with that of the disk, and must not have gone back behind the last write. */
async function checkClock(home: string): Promise<Found> {
  const probe = join(home, `.clock-${process.pid}`);
  await writeFile(probe, '', { mode: 0o600 });
  const onDisk = statSync(probe).mtimeMs;
  await rm(probe, { force: true });
  const apart = Math.abs(Date.now() - onDisk);
  const fix = 'set the clock of this machine (timedatectl)';
  if (apart > CLOCK_TOLERANCE_MS) {
    return { state: 'wrong', found: `${span(apart)} apart from that of the disk with ${home}`, fix };
  }
  const database = join(home, 'relay.db');
  const ahead = existsSync(database) ? statSync(database).mtimeMs - Date.now() : 0;
  if (ahead > CLOCK_TOLERANCE_MS) {
    return { state: 'wrong', found: `the store was last written ${span(ahead)} in the future`, fix };
  }
  return { state: 'ok', found: new Date().toISOString() };
}

async function checkServer(host: Host, config: Config): Promise<Found> {
  const running = host.server.running();
  if (running !== null) {
    const health = await host.server.health(running.url);
    const name = `${running.url} (pid ${running.pid})`;
    if (health?.status !== 'ok') {
      const found = `${name} ${health ? `says: ${health.status}` : 'does not answer'}`;
      return { state: 'wrong', found, fix: 'relay down --force && relay up' };
    }
    if (running.version !== host.version) {
      const found = `${name} is version ${running.version}, this program is ${host.version}`;
      return { state: 'warning', found, fix: 'relay down && relay up' };
    }
    return { state: 'ok', found: `${name} answers` };
  }
  const left = host.server.leftBehind();
  if (left !== null) {
    return {
      state: 'warning',
      found: `none runs; the one with pid ${left.pid} ended without stopping properly`,
      fix: 'relay up --detach',
    };
  }
  const taken = await host.server.portTaken({ host: config.host, port: config.port });
  if (taken !== null) {
    const found = `none runs on this home, and port ${config.port} is taken${taken.by ? ` ${taken.by}` : ''}`;
    return { state: 'warning', found, fix: `relay up --port ${taken.free ?? 0}` };
  }
  return { state: 'ok', found: 'none runs, and none is needed on this machine' };
}

async function checkRemote(host: Host, url: string): Promise<Found> {
  const health = await host.server.health(url);
  if (health === null)
    return { state: 'wrong', found: `${url} does not answer`, fix: 'relay up, or unset CONTEXTRELAY_URL' };
  if (health.status !== 'ok')
    return { state: 'wrong', found: `${url} says: ${health.status}`, fix: 'look into its log' };
  return { state: 'ok', found: `${url} answers${health.version ? `, version ${health.version}` : ''}` };
}

async function guarded(check: () => Promise<Found>): Promise<Found> {
  try {
    return await check();
  } catch (error) {
    return wrong(error);
  }
}

function wrong(error: unknown): Found {
  if (isRelayError(error)) return { state: 'wrong', found: error.message, fix: error.hint };
  return {
    state: 'wrong',
    found: (error as Error).message,
    fix: 'RELAY_DEBUG=1 relay status shows where it happened',
  };
}

function attempt<T>(get: () => T): { value: T } | { error: unknown } {
  try {
    return { value: get() };
  } catch (error) {
    return { error };
  }
}

function quote(path: string): string {
  return /^[\w/.~-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
