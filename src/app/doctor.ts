import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isRelayError } from '../base/errors.ts';
import { shellWord } from '../base/format.ts';
import { GET_RUNTIME } from '../base/installing.ts';
import { CLUSTER_CLOCK_TOLERANCE_MS } from '../base/limits.ts';
import { plainLine } from '../client/projects/brief.ts';
import { hasSqlite, SQLITE_SINCE } from '../engines/node-sqlite.ts';
import type { Check, Host } from '../interfaces/cli/host.ts';
import { bytes, plural, span } from '../interfaces/cli/human.ts';
import { findProgram } from '../runners/find-program.ts';
import type { Config, Environment } from './config.ts';
import type { Deadline } from './deadline.ts';
import { RUNTIME, realPath } from './own-package.ts';

const LITTLE_SPACE = 1024 ** 3;
const NO_SPACE = 64 * 1024 ** 2;
const DISK_CLOCK_TOLERANCE_MS = 120_000;

const MISSING_FIX = 'restore the files from a backup; until then the payloads cannot be read';

const NO_ROOM_FIX = 'delete some data, or run relay prune; GET /ready shows what is full';

type Finding = Omit<Check, 'name'>;

/** Timeout in ms for running the `relay` on the PATH with `version`. */
const PROGRAM_MS = 5_000;

/**
 * Runs the checks of `relay doctor` and yields their results. A check that has no result at the deadline is
 * reported as wrong. `readConfig` throws if the configuration is invalid.
 */
export async function* diagnose(
  host: Host,
  readConfig: () => Config,
  deadline: Deadline,
  env: Environment,
): AsyncGenerator<Check> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    yield { name: 'runtime', ...checkRuntime(false) };
    yield { name: 'configuration', ...failed(error) };
    return;
  }
  const { home, remote } = host;
  const locked = remote === null ? checkWritable(home) : null;
  yield { name: 'runtime', ...checkRuntime(remote !== null) };
  const file = join(config.home, 'config.json');
  const source = existsSync(file) ? `read from ${file}` : `all defaults (there is no ${file})`;
  yield { name: 'configuration', ...ok(source) };
  const other = await checkProgramOnPath(host.program.version, env);
  if (other) yield { name: 'program', ...other };
  // Without a writable home every other check fails too, so report only this problem.
  if (locked) {
    yield { name: 'home', ...locked };
    return;
  }
  const elsewhere = {
    server: async () => checkRemote(host, remote!),
    'round trip': () => roundTrip(host),
  };
  const here = {
    home: async () => checkHome(home),
    store: () => checkStore(host),
    'round trip': () => roundTrip(host),
    disk: () => checkDisk(home),
    clock: () => checkClock(host),
    server: () => checkServer(host, config),
  };
  const checks: { readonly [name: string]: () => Promise<Finding> } = remote === null ? here : elsewhere;
  const begun: { readonly [name: string]: Promise<Finding> } = {};
  const late = () => wrong(`no answer within ${deadline.seconds} s`, 'relay status');
  // `ground` is the check of the server or, without a server, the check of the store, which also creates the home.
  // The checks after `ground` depend on it, so they wait until it ends, but at most for half of the timeout. All
  // other checks run at the same time as `ground`.
  const ground = remote === null ? 'store' : 'server';
  for (const [name, check] of Object.entries(checks)) {
    const half = setTimeout(deadline.seconds * 500, null, { ref: false });
    const before = begun[ground] ? Promise.race([begun[ground], half]) : Promise.resolve();
    Object.assign(begun, { [name]: deadline.race(before.then(check).catch(failed), late) });
  }
  for (const [name, check] of Object.entries(begun)) {
    const found = await check;
    // A broken store or server also fails the round trip, so do not report the same cause twice.
    if (name === 'round trip' && found.state === 'wrong' && (await begun[ground])?.state === 'wrong')
      continue;
    yield { name, ...found };
  }
}

function ok(found: string): Finding {
  return { state: 'ok', found };
}

function warning(found: string, fix: string): Finding {
  return { state: 'warning', found, fix };
}

function wrong(found: string, fix: string): Finding {
  return { state: 'wrong', found, fix };
}

function failed(error: unknown): Finding {
  if (isRelayError(error)) return wrong(error.message, error.hintFor('cli'));
  return wrong((error as Error).message, 'RELAY_DEBUG=1 relay status shows where it happened');
}

function checkRuntime(remote: boolean): Finding {
  const found = `${RUNTIME} at ${process.execPath}`;
  if (hasSqlite() || remote) return ok(found);
  return wrong(found, `the local store needs Node ${SQLITE_SINCE.join('.')} or newer: ${GET_RUNTIME}`);
}

/**
 * Checks the `relay` on the PATH, which hooks and people run. Warns if it fails or has another version than
 * this program. Otherwise returns null.
 */
async function checkProgramOnPath(ownVersion: string, env: Environment): Promise<Finding | null> {
  const place = findProgram('relay', env);
  // Never run a program from a relative folder of the PATH: this folder may be inside someone else's project.
  if (place === null || !isAbsolute(place)) return null;
  const real = realPath(place);
  if (real === realPath(process.execPath) || real === realPath(process.argv[1] ?? '')) return null;
  const version = await new Promise<string | null>((resolve) =>
    execFile(place, ['version'], { timeout: PROGRAM_MS }, (error, stdout) =>
      resolve(error ? null : stdout.trim()),
    ),
  );
  if (version === ownVersion) return null;
  const found =
    version === null
      ? `${place} on the PATH does not run`
      : `${place} on the PATH is version ${plainLine(version, 40)}; this is ${ownVersion}`;
  return warning(found, 'install the same version in both places, or remove one of them from the PATH');
}

/**
 * Returns null if the home folder is writable or, if it does not exist, can be created. Otherwise returns the
 * problem.
 */
function checkWritable(home: string): Finding | null {
  let folder = home;
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch {
    const fix = `chmod u+rwx ${shellWord(folder)}, or use another folder with RELAY_HOME`;
    return wrong(`${folder} is not writable`, fix);
  }
}

function checkHome(home: string): Finding {
  if (!existsSync(home)) return ok(`${home} does not exist yet; the first command creates it`);
  const stat = statSync(home);
  if (process.platform === 'win32') return ok(home);
  if (process.getuid && stat.uid !== process.getuid())
    return wrong(`${home} belongs to another user`, `sudo chown -R "$USER" ${shellWord(home)}`);
  if ((stat.mode & 0o077) !== 0) return wrong(`other users can read ${home}`, `chmod 700 ${shellWord(home)}`);
  return ok(`${home}, only you can read it`);
}

async function checkStore(host: Host): Promise<Finding> {
  await using store = await host.store.open();
  const usage = await store.usage();
  const { count, some } = await store.missingBodies();
  if (count > 0) {
    const which = `${some.join(', ')}${count > some.length ? ', …' : ''}`;
    const files = `${plural(count, 'payload file')} ${count === 1 ? 'is' : 'are'}`;
    return warning(`${files} missing: ${which}`, MISSING_FIX);
  }
  return ok(`opened; ${plural(usage.blobs.count, 'payload')}, ${bytes(usage.diskBytes)} on disk`);
}

/** Pushes a small text, pulls it, compares it, and deletes it. */
async function roundTrip(host: Host): Promise<Finding> {
  const text = `relay doctor ${Date.now()} ☂`;
  await using open = await host.relay.open();
  const client = await open.client();
  const url = await client.push(text, { ttl: 60, metadata: { from: 'relay doctor' } });
  const back = await client.pull(url);
  await client.delete(url);
  if (back !== text) return wrong('the pulled text differs from the pushed text', 'relay status');
  return ok('pushed, pulled and deleted a message');
}

async function checkDisk(home: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(home);
  const free = bavail * bsize;
  const found = `${bytes(free)} free`;
  if (free > LITTLE_SPACE) return ok(found);
  const fix = 'free some space; relay prune deletes expired data';
  return free > NO_SPACE ? warning(found, fix) : wrong(found, fix);
}

/**
 * Checks this machine's clock against the clocks of the cluster and the disk, and against the last write to
 * the store.
 */
async function checkClock(host: Host): Promise<Finding> {
  const {
    home,
    store: { engine },
  } = host;
  const fix = 'set the clock of this machine (timedatectl)';
  if (engine !== null) {
    await using store = await host.store.open();
    const { clockAheadMs = 0 } = await store.state();
    const side = clockAheadMs < 0 ? 'behind' : 'ahead of';
    if (Math.abs(clockAheadMs) > CLUSTER_CLOCK_TOLERANCE_MS)
      return warning(`${span(Math.abs(clockAheadMs))} ${side} the clock of the cluster`, fix);
  }
  const probe = join(home, `.clock-${process.pid}`);
  await writeFile(probe, '', { mode: 0o600 });
  const onDisk = statSync(probe).mtimeMs;
  await rm(probe, { force: true });
  const apart = Math.abs(Date.now() - onDisk);
  if (apart > DISK_CLOCK_TOLERANCE_MS)
    return wrong(`differs by ${span(apart)} from the clock of the file server that holds ${home}`, fix);
  const database = join(home, 'relay.db');
  const ahead = existsSync(database) ? statSync(database).mtimeMs - Date.now() : 0;
  if (ahead > DISK_CLOCK_TOLERANCE_MS)
    return wrong(`the last write to the store is ${span(ahead)} in the future`, fix);
  return ok(new Date().toISOString());
}

async function checkServer(
  { server: openControl, program: { version } }: Host,
  { host, port }: Config,
): Promise<Finding> {
  const server = await openControl();
  const running = server.running();
  if (running !== null) {
    const health = await server.health(running.url);
    const name = `${running.url} (pid ${running.pid})`;
    if (health?.status !== 'ok') {
      const answer = health ? `reports: ${health.status}` : 'does not answer';
      return wrong(`${name} ${answer}`, 'relay down --force && relay up');
    }
    if (health.writable === false) return wrong(`${name} has no space for writes`, NO_ROOM_FIX);
    const engine = running.engine ? `; stores data in ${running.engine}` : '';
    if (running.version === version) return ok(`${name} answers${engine}`);
    const found = `${name} is version ${running.version}, this program is ${version}`;
    return warning(found, 'relay down && relay up');
  }
  const left = server.leftBehind();
  if (left !== null) {
    const found = `not running; the last one (pid ${left.pid}) ended unexpectedly`;
    return warning(found, 'relay up --detach');
  }
  const conflict = await server.portTaken({ host, port });
  if (conflict === null) return ok('not running; commands on this machine do not need one');
  const found = `not running for this home, and port ${port} is taken${conflict.by ? ` ${conflict.by}` : ''}`;
  return warning(found, `relay up --port ${conflict.free ?? 0}`);
}

async function checkRemote(host: Host, url: string): Promise<Finding> {
  const health = await (await host.server()).health(url);
  if (health === null) return wrong(`${url} does not answer`, 'relay up, or unset CONTEXTRELAY_URL');
  if (health.status !== 'ok') return wrong(`${url} reports: ${health.status}`, 'check the log of the server');
  if (health.writable === false)
    return wrong(`${url} has no space for writes`, 'contact the operator of the server');
  return ok(`${url} answers${health.version ? `, version ${health.version}` : ''}`);
}
