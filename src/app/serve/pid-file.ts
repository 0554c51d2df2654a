import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RelayError } from '../../base/errors.ts';

import { translateError } from '../../engines/sqlite/translate-error.ts';
import type { RunningServer } from '../../interfaces/cli/host.ts';
import type { Config } from '../config.ts';
import { maskPassword } from '../option-readers.ts';
import { readJsonFile } from '../store/atomic-file.ts';

/** Content of the pid file, in which a server describes itself. */
export interface ServerRecord extends RunningServer {
  /** `keys` if the server requires API keys, `open` if not. Absent in the file of an old server. */
  readonly auth?: 'open' | 'keys';
  /**
   * Boot id and start time of the process, because process ids are reused. Null if the system does not
   * provide them.
   */
  readonly birth: string | null;
}

export function pidFile(home: string): string {
  return join(home, 'server.json');
}

/** Returns the server that runs on this home, or null. Ignores the file of a dead server. */
export function runningServer(home: string): ServerRecord | null {
  const record = readServerRecord(home);
  return record !== null && isAlive(record) ? record : null;
}

/** Returns the content of the pid file, even of a dead server, or null if there is no valid file. */
export function readServerRecord(home: string): ServerRecord | null {
  const { pid, url, ...rest } = readJsonFile(pidFile(home)) ?? {};
  if (typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid < 1 || typeof url !== 'string')
    return null;
  return { pid, url, ...rest } as ServerRecord;
}

/**
 * Registers this server for its home and returns null, or returns the server that already runs there.
 * Replaces the file of a dead server.
 */
export function claimServer(home: string, record: Omit<ServerRecord, 'birth'>): ServerRecord | null {
  const mine: ServerRecord = { ...record, birth: birthOf(record.pid) };
  const path = pidFile(home);
  const draft = `${path}.${record.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(mine, null, 2)}\n`, { mode: 0o600 });
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw translateError(error, path);
    const other = runningServer(home);
    if (other !== null && other.pid !== record.pid) return other;
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  return null;
}

/** Deletes the pid file, unless it belongs to another server now. */
export function releaseServer(home: string, pid: number): void {
  if (readServerRecord(home)?.pid === pid) rmSync(pidFile(home), { force: true });
}

/** Returns whether a process with this id runs, also if it belongs to another user. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that the process belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export function isAlive(record: Pick<ServerRecord, 'pid' | 'birth'>): boolean {
  if (!processExists(record.pid)) return false;
  const birth = birthOf(record.pid);
  if (birth === DEAD) return false;
  return record.birth === null || birth === null || record.birth === birth;
}

const DEAD = 'dead';

/** Returns the boot id and the start time of a process, `DEAD` for a zombie, or null without /proc. */
export function birthOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain any character, so parse what follows the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return DEAD;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${fields[19]}`;
  } catch {
    return null;
  }
}

/**
 * Returns the address of the cluster that commands on a home use, or null if the store is in the home.
 * Commands use the store of a running server, so that they see its pointers and API keys. Throws if another
 * store is configured, or if the login of the cluster is unknown.
 */
export function homeEngine(config: Pick<Config, 'home' | 'engine'>): string | null {
  const server = runningServer(config.home);
  // Use the configuration if there is no server, or if an old server has not recorded its engine.
  if (server?.engine === undefined) return config.engine;
  if (config.engine !== null && server.engine !== null && isSameStore(config.engine, server.engine))
    return config.engine;
  if (config.engine === server.engine) return server.engine;
  if (config.engine === null && !server.engine!.includes('@')) return server.engine;
  const place = (engine: string | null) => (engine === null ? 'the home folder' : maskPassword(engine));
  const mismatch =
    config.engine === null
      ? 'has no address of this cluster'
      : `is configured to use ${place(config.engine)}`;
  throw new RelayError('bad_config', {
    where: 'engine',
    what: `the server of this home (pid ${server.pid}) stores its data in ${place(server.engine)}, but this command ${mismatch}.`,
    hint:
      server.engine === null
        ? 'Unset RELAY_ENGINE and RELAY_ENGINE_FILE, or use another home: --home DIR.'
        : `Set RELAY_ENGINE to the address of the cluster, or write the address to a file: relay config set engine_file FILE. Or use the server: --url ${server.url}`,
  });
}

/** Returns whether two addresses have the same store name and a server in common. Ignores their logins. */
function isSameStore(one: string, other: string): boolean {
  const parts = (address: string) => {
    const [servers = '', name = 'relay'] = address.replace(/^\w+:\/\/(?:[^@/]*@)?/, '').split('/');
    return { servers: servers.split(','), name: name || 'relay' };
  };
  const [a, b] = [parts(one), parts(other)];
  return a.name === b.name && a.servers.some((server) => b.servers.includes(server));
}
