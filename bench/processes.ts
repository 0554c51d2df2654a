import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** What the kernel of Linux tells about the processes of this machine; elsewhere there is nothing to read. */

interface Process {
  readonly pid: number;
}

export function residentMegabytes(of: Process): number {
  return megabytes(of, 'VmRSS');
}

/** The most it ever was. */
export function peakMegabytes(of: Process): number {
  return megabytes(of, 'VmHWM');
}

function megabytes({ pid }: Process, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)![1]) / 1024;
}

/**
 * Processor time of all threads, in user and kernel mode. The kernel counts that of a process in hundredths of a second, and of each
 * thread in nanoseconds as long as it lives; both fall short of the truth, so the larger is the nearer.
 */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) =>
    Number(attempt(() => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) ?? 0),
  );
  return Math.max(
    (Number(fields[11]) + Number(fields[12])) * 10,
    threads.reduce((sum, ns) => sum + ns / 1e6, 0),
  );
}

/** The process of this machine that listens at a URL, where it can be seen. */
export function listenerOf(url: string): number | undefined {
  const { hostname, port } = new URL(url);
  if (!/^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)) return undefined;
  const end = `:${Number(port || 80)
    .toString(16)
    .toUpperCase()
    .padStart(4, '0')}`;
  const listening = new Set<string | undefined>();
  for (const table of ['tcp', 'tcp6']) {
    for (const line of attempt(() => readFileSync(`/proc/net/${table}`, 'utf8'))?.split('\n') ?? []) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (local?.endsWith(end) && state === LISTEN) listening.add(`socket:[${inode}]`);
    }
  }
  if (listening.size === 0) return undefined;
  return readdirSync('/proc')
    .map(Number)
    .find((pid) =>
      attempt(() => readdirSync(`/proc/${pid}/fd`))?.some((fd) =>
        listening.has(attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`))),
      ),
    );
}

const LISTEN = '0A';

/** A process may end while it is looked at, and may be somebody else's. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
