import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';

/** Who listens on a port. */
interface PortOwner {
  readonly pid: number;
  readonly command: string;
}

/** The process that listens there; null when it belongs to another user, or the system does not tell. */
export async function portOwner(port: number): Promise<PortOwner | null> {
  return (process.platform === 'linux' ? ownerFromProc(port) : null) ?? (await ownerFromLsof(port));
}

/** The first port from `from` on that can be listened on; null when none of the next fifty can. */
export async function nextFreePort(host: string, from: number): Promise<number | null> {
  for (let port = from; port < Math.min(from + 50, 65_536); port++) {
    if ((await tryPort(host, port)) === 'free') return port;
  }
  return null;
}

/** `taken` only when somebody listens there; every other trouble is left to whoever really listens. */
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
  const words = read(`/proc/${pid}/cmdline`).split('\0').filter(Boolean);
  return words.length > 0 ? shorten(words.join(' ')) : read(`/proc/${pid}/comm`).trim();
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

/** A command line may hold secrets and control characters; its beginning is enough to know it by. */
function shorten(command: string): string {
  const clean = command.replace(/[\u0000-\u001f\u007f]/g, ' ');
  return clean.length > 60 ? `${clean.slice(0, 59)}…` : clean;
}

/** Processes come and go, and most are of others: what cannot be read counts as empty. */
function orElse<T>(nothing: T, look: () => T): T {
  try {
    return look();
  } catch {
    return nothing;
  }
}

const read = (path: string) => orElse('', () => readFileSync(path, 'utf8'));
const list = (path: string) => orElse([], () => readdirSync(path));
const link = (path: string) => orElse('', () => readlinkSync(path));
