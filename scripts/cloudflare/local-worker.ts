import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleWorker, COMPATIBILITY } from './bundle.ts';

/**
 * The part of miniflare's API that this file uses. miniflare is installed in deploy/cloudflare, not with the
 * project.
 */
export interface Workerd {
  readonly ready: Promise<URL>;
  dispatchFetch(url: string, o?: RequestInit): Promise<Response>;
  getBindings(): Promise<object>;
  dispose(): Promise<void>;
}

/** Starts workerd on this machine. `options` are options of miniflare. */
export async function openWorkerd(options: object): Promise<Workerd> {
  const place = join(import.meta.dirname, '..', '..', 'deploy', 'cloudflare', 'package.json');
  const { Miniflare } = await import(pathToFileURL(createRequire(place).resolve('miniflare')).href);
  return new Miniflare({ compatibilityDate: COMPATIBILITY.date, ...options });
}

export const LOOPBACK = '127.0.0.1';

export interface WorkerOptions {
  /** Port to listen on. 0 picks a free port. */
  readonly port?: number;
  readonly open?: boolean;
  readonly adminKey?: string;
  /** Folder for the stored data. By default the data is in memory. */
  readonly home?: string;
  /** Folder with the built dashboard. By default there is no dashboard. */
  readonly pages?: string;
  /** Entry file of the Worker. By default the relay's Worker. */
  readonly entry?: string;
  /** Additional variables of the Worker. */
  readonly vars?: { readonly [name: string]: string };
}

/** Starts the relay as a Worker in workerd on this machine. */
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
  return {
    url,
    stop: () => workerd.dispose(),
  };
}

/** Returns miniflare options that match wrangler.toml. */
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
    durableObjects: {
      TENANTS: { className: 'TenantObject', useSQLite: true },
      STORE: { className: 'RelayObject', useSQLite: true },
    },
    r2Buckets: ['BODIES'],
    bindings: vars,
    ...(pages ? { assets: assetsIn(pages) } : {}),
  };
}

/** Configures assets: the Worker runs first, and each file is served only under its exact name. */
function assetsIn(directory: string) {
  return {
    directory,
    binding: 'ASSETS',
    routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: true },
    assetConfig: { html_handling: 'none', not_found_handling: 'none' },
  };
}
