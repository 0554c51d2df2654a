import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RelayError } from '../../base/errors.ts';
import { pause } from '../../base/pause.ts';
import type { ServeOptions } from '../../interfaces/cli/host.ts';
import type { Config, Environment } from '../config.ts';
import { ownCommand } from '../own-package.ts';
import { makeHome } from '../store/home.ts';
import { runningServer, type ServerRecord } from './pid-file.ts';
import { fetchHealth } from './port-owner.ts';
import { rotateLog } from './server-log.ts';

/** Timeout of the start in ms. The log has the reason of a failure. */
const START_TIMEOUT_MS = 20_000;

/** Starts this program as `relay up` in the background. Resolves when the server answers. */
export async function detachServer(config: Config, env: Environment, o: ServeOptions): Promise<ServerRecord> {
  makeHome(config.home);
  const log = join(config.home, 'server.log');
  const { fd, size } = openLog(log);
  const [program, ...args] = ownCommand();
  const command = ['up', '--home', config.home, '--host', o.host, '--port', String(o.port)];
  if (o.open) command.push('--open');
  if (o.auth) command.push('--auth');
  if (o.publicUrl) command.push('--public-url', o.publicUrl);
  if (o.tlsCert) command.push('--tls-cert', resolve(o.tlsCert));
  if (o.tlsKey) command.push('--tls-key', resolve(o.tlsKey));
  if (o.loopbackWebhooks) command.push('--loopback-webhooks');
  for (const folder of o.projects ?? []) command.push('--project', resolve(folder));
  for (const proxy of o.trustProxy ?? []) command.push('--trust-proxy', proxy);
  const child = spawn(program!, [...args, ...command], {
    detached: true,
    stdio: ['ignore', fd, fd],
    // Pass the engine's address in the environment: it may contain a password, and other users can read
    // command lines.
    env: {
      ...env,
      RELAY_LOG_FILE: log,
      NO_COLOR: '1',
      ...(config.engine ? { RELAY_ENGINE: config.engine, RELAY_ENGINE_FILE: '' } : {}),
      ...(config.blobs ? { RELAY_BLOBS: config.blobs } : {}),
    },
    cwd: config.home,
  });
  closeSync(fd);
  let exited: string | null = null;
  child.once('error', (error) => {
    exited = error.message;
  });
  child.once('exit', (code, signal) => {
    exited = `it ended with ${signal ?? code}`;
  });
  const until = Date.now() + START_TIMEOUT_MS;
  while (exited === null && Date.now() < until) {
    const record = runningServer(config.home);
    if (record?.pid === child.pid && (await fetchHealth(record!.url))?.status === 'ok') {
      child.unref();
      return record!;
    }
    await pause(25);
  }
  child.unref();
  if (exited === null) child.kill('SIGTERM');
  throw new RelayError('failed', {
    what: `The server did not start: ${exited ?? 'it does not answer'}.`,
    hint: `Its log says:\n${tail(log, size)}`,
  });
}

function openLog(path: string): { fd: number; size: number } {
  rotateLog(path);
  const fd = openSync(path, 'a', 0o600);
  return { fd, size: statSync(path).size };
}

/** Returns the last lines that were written to a file after the offset `from`. */
function tail(path: string, from: number): string {
  const lines = readFileSync(path).subarray(from).toString('utf8').trimEnd().split('\n').slice(-8);
  return lines.map((line) => `    ${line}`).join('\n');
}
