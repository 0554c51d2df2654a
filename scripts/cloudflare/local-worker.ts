import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleWorker, COMPATIBILITY } from './bundle.ts';

/** What is used of miniflare, which is installed in deploy/cloudflare and not with the project. */
export interface Workerd {
  readonly ready: Promise<URL>;
  dispatchFetch(url: string, o?: RequestInit): Promise<Response>;
  getBindings(): Promise<object>;
  getWorker(): Promise<{ scheduled(o: { readonly cron: string }): Promise<unknown> }>;
  dispose(): Promise<void>;
}

/** A workerd on this machine. The options are miniflare's. */
export async function openWorkerd(options: object): Promise<Workerd> {
  const place = join(import.meta.dirname, '..', '..', 'deploy', 'cloudflare', 'package.json');
  const { Miniflare } = await import(pathToFileURL(createRequire(place).resolve('miniflare')).href);
  return new Miniflare({ compatibilityDate: COMPATIBILITY.date, ...options });
}

export const LOOPBACK = '127.0.0.1';

export interface WorkerOptions {
  /** 0 picks a free one. */
  readonly port?: number;
  readonly open?: boolean;
  readonly adminKey?: string;
  /** Where it keeps everything; in memory by default. */
  readonly home?: string;
  /** Where its pages were built; none by default. */
  readonly pages?: string;
  /** How often its cron is run; never by default. */
  readonly cronMs?: number;
  /** The file of the Worker; the relay's own by default. */
  readonly entry?: string;
  /** Other variables. */
  readonly vars?: { readonly [name: string]: string };
}

/** The relay as a Worker, in workerd on this machine. */
export async function startWorker(o: WorkerOptions = {}) {
  const vars = {
    RELAY_OPEN: String(o.open ?? true),
    RELAY_ALLOWED_HOSTS: LOOPBACK,
    ...(o.adminKey ? { RELAY_ADMIN_KEY: o.adminKey } : {}),
    ...o.vars,
  };
  const workerd = await openWorkerd({
    ...workerOptions(await bundleWorker({ entry: o.entry }), { vars, pages: o.pages }),
    host: LOOPBACK,
    port: o.port ?? 0,
    ...(o.home ? { defaultPersistRoot: o.home } : {}),
  });
  const url = (await workerd.ready).href.replace(/\/$/, '');
  const { cronMs } = o;
  const worker = await workerd.getWorker();
  // What fails is in the log of workerd, and comes again with the next.
  const cron = cronMs && setInterval(() => worker.scheduled({ cron: '* * * * *' }).catch(() => {}), cronMs);
  return {
    url,
    async stop() {
      clearInterval(cron);
      await workerd.dispose();
    },
  };
}

/** What wrangler.toml says, as miniflare takes it. */
export function workerOptions(
  { script, table }: Awaited<ReturnType<typeof bundleWorker>>,
  { vars, pages }: { readonly vars: object; readonly pages?: string },
) {
  return {
    modules: [
      { type: 'ESModule', path: 'worker.js', contents: script },
      { type: 'Data', path: 'o200k.bin', contents: Uint8Array.from(table) },
    ],
    compatibilityFlags: COMPATIBILITY.flags,
    durableObjects: { STORE: { className: 'RelayObject', useSQLite: true } },
    r2Buckets: ['BODIES'],
    bindings: vars,
    ...(pages ? { assets: assetsIn(pages) } : {}),
  };
}

/** The Worker first, and every file under its own name alone. */
function assetsIn(directory: string) {
  return {
    directory,
    binding: 'ASSETS',
    routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: true },
    assetConfig: { html_handling: 'none', not_found_handling: 'none' },
  };
}
