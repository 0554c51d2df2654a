import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A process whose memory and CPU time are read from /proc. They are available only on Linux. */

interface Process {
  readonly pid: number;
}

export function residentMegabytes(of: Process): number {
  return megabytes(of, 'VmRSS');
}

/** Returns the peak memory of a process in MB. */
export function peakMegabytes(of: Process): number {
  return megabytes(of, 'VmHWM');
}

function megabytes({ pid }: Process, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)![1]) / 1024;
}

/**
 * Returns the CPU time of all threads in ms, user and kernel. The kernel counts a process in hundredths of a second,
 * and each living thread in nanoseconds. The first figure is coarse and the second omits ended threads, so the larger
 * one is used.
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

/** Returns the id of the process on this machine that listens at a URL, or undefined if it cannot be found. */
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

/** Returns undefined if `look` throws: the process may have ended or belong to another user. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
