import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Skipped } from './bench.ts';
import { listenerOf } from './processes.ts';
import { ROOT, type Server, start } from './servers.ts';

/** Starts the relay, or another Worker, in workerd with its store on disk. The process id is that of workerd. */
export async function startWorker(
  o: { readonly entry?: string; readonly home?: string } = {},
): Promise<Server> {
  const program = join(import.meta.dirname, 'worker-process.ts');
  const server = await start((folder) => [program, o.home ?? folder, ...(o.entry ? [o.entry] : [])]);
  return { ...server, pid: listenerOf(server.url) ?? server.pid };
}

export function startBareWorker(): Promise<Server> {
  return startWorker({ entry: join(import.meta.dirname, 'bare-worker.ts') });
}

/** Returns the reason why this machine cannot run a Worker, or null. */
export function missingWorkerd(): string | null {
  if (existsSync(join(ROOT, 'deploy', 'cloudflare', 'node_modules', 'miniflare'))) return null;
  return 'no workerd here: node scripts/setup.mjs --cloudflare';
}

/** Returns the reason why this machine cannot measure a Worker's memory and CPU time, or null. */
export function unmeasured(): Skipped | null {
  const skipped =
    process.platform === 'linux' ? missingWorkerd() : 'processor time and memory are read from /proc';
  return skipped === null ? null : { skipped };
}
