import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Skipped } from './bench.ts';
import { listenerOf } from './processes.ts';
import { ROOT, type Server, start } from './servers.ts';

/** The relay as a Worker, or another one, with its store on this machine's disk. Its process is workerd's. */
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

/** Why no Worker can be started here. */
export function missingWorkerd(): string | null {
  if (existsSync(join(ROOT, 'deploy', 'cloudflare', 'node_modules', 'miniflare'))) return null;
  return 'no workerd here: node scripts/setup.mjs --cloudflare';
}

/** Why nothing can be told of what a Worker takes. */
export function unmeasured(): Skipped | null {
  const skipped =
    process.platform === 'linux' ? missingWorkerd() : 'processor time and memory are read from /proc';
  return skipped === null ? null : { skipped };
}
