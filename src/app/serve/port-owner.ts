import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { orElse } from '../../base/or-else.ts';
import type { Health } from '../../interfaces/cli/host.ts';

/** Process that listens on a port. */
interface PortOwner {
  readonly pid: number;
  readonly command: string;
}

/**
 * Returns the process that listens on a port, or null if the system does not tell, or if the process belongs to
 * another user.
 */
export async function portOwner(port: number): Promise<PortOwner | null> {
  return (process.platform === 'linux' ? ownerFromProc(port) : null) ?? (await ownerFromLsof(port));
}

/** Returns the first free port among the 50 ports that start with `from`, or null if all are taken. */
export async function nextFreePort(host: string, from: number): Promise<number | null> {
  for (let port = from; port < Math.min(from + 50, 65_536); port++) {
    if ((await tryPort(host, port)) === 'free') return port;
  }
  return null;
}

/**
 * Checks a port. Returns `taken` only if a program listens on it. The server itself reports any other error
 * when it starts to listen.
 */
export function tryPort(host: string, port: number): Promise<'free' | 'taken' | 'refused'> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'EADDRINUSE' ? 'taken' : 'refused'),
    );
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve('free')));
  });
}

const LISTENING = '0A';

function ownerFromProc(port: number): PortOwner | null {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of read(table).split('\n')) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === LISTENING && local?.endsWith(`:${hexPort}`)) sockets.add(`socket:[${inode}]`);
    }
  }
  if (sockets.size === 0) return null;
  for (const pid of list('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const fd of list(`/proc/${pid}/fd`)) {
      if (sockets.has(link(`/proc/${pid}/fd/${fd}`))) return { pid: Number(pid), command: commandOf(pid) };
    }
  }
  return null;
}

function commandOf(pid: string): string {
  const argv = read(`/proc/${pid}/cmdline`).split('\0').filter(Boolean);
  return argv.length > 0 ? shorten(argv.join(' ')) : read(`/proc/${pid}/comm`).trim();
}

function ownerFromLsof(port: number): Promise<PortOwner | null> {
  return new Promise((resolve) => {
    const question = ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'];
    execFile('lsof', question, { timeout: 3000 }, (_error, stdout) => {
      const pid = /^p(\d+)$/m.exec(stdout)?.[1];
      const command = /^c(.+)$/m.exec(stdout)?.[1];
      resolve(pid === undefined ? null : { pid: Number(pid), command: command ?? '?' });
    });
  });
}

/** Shortens a command line, which may contain secrets, and removes control characters. */
function shorten(command: string): string {
  const clean = command.replace(/[\u0000-\u001f\u007f]/g, ' ');
  return clean.length > 60 ? `${clean.slice(0, 59)}…` : clean;
}

// These functions fail if the process has ended or belongs to another user.
const read = (path: string) => orElse(() => readFileSync(path, 'utf8'), '');
const list = (path: string) => orElse(() => readdirSync(path), []);
const link = (path: string) => orElse(() => readlinkSync(path), '');

const HEALTH_TIMEOUT_MS = 3000;

/** Returns the health of the relay at a URL, or null if no relay answers. */
export async function fetchHealth(url: string, timeoutMs = HEALTH_TIMEOUT_MS): Promise<Health | null> {
  try {
    const response = await (isOwnTls(url) ? fetchUnverified : fetch)(`${url}/health`, {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
      headers: { Accept: 'application/json' },
    });
    const answer: unknown = await response.json();
    if (typeof answer !== 'object' || answer === null) return null;
    // An error object, with which an unhealthy relay answers, has no field `status`.
    if ('status' in answer && typeof answer.status === 'string') return answer as Health;
    return 'error' in answer && 'code' in answer ? { status: String(answer.error) } : null;
  } catch {
    return null;
  }
}

/**
 * Returns whether a URL is an https address of this machine, where a certificate may be self-signed or name
 * only the public host.
 */
function isOwnTls(url: string): boolean {
  return /^https:\/\/(127(\.\d{1,3}){3}|localhost|\[::1\])(:\d+)?$/.test(url);
}

/** Sends a request without checking the server's certificate. The request contains no secret. */
async function fetchUnverified(url: string, { signal }: { signal: AbortSignal }): Promise<Response> {
  const [{ get }, { text }] = await Promise.all([import('node:https'), import('node:stream/consumers')]);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { rejectUnauthorized: false, signal, agent: false }, resolve).on('error', reject);
  });
  return new Response(await text(response), { status: response.statusCode ?? 500 });
}
