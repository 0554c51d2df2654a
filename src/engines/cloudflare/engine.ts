import type { R2Bucket } from '@cloudflare/workers-types';
import { type Env, systemEnv } from '../../base/env.ts';
import type { Crc32 } from '../../kernel/block-hashes.ts';
import { DeferredWork, type Engine, type EngineLimits } from '../../kernel/engine.ts';
import { CloudflareBlobs } from './blobs.ts';
import { Calls } from './calls.ts';
import { CloudflareLogs } from './logs.ts';
import { DIRECTORY, objectOf } from './objects.ts';
import { CloudflareRecords } from './records.ts';
import { CloudflareSearchIndex } from './search-index.ts';
import type { Store } from './store.ts';
import type { Objects } from './store-object.ts';

/** Limits of this engine. The platform allows rows of 2 MB, including key and metadata. */
const LIMITS: EngineLimits = {
  recordBytes: 1_900_000,
  entryBytes: 1_900_000,
  blobBytes: 64 * 1024 * 1024,
  // Only the start of a longer text is indexed. Indexing 1 MiB blocks a Durable Object for a few hundred
  // milliseconds.
  indexedBytes: 1024 * 1024,
  durability: 'quorum',
  shortLived: true,
};

/** Maximum delay of deferred work, in ms. The platform ends a request at most 30 s after its response. */
const MAX_DEFER_MS = 1_000;
/** Number of object names per page of the directory. */
const DIRECTORY_PAGE = 100;

export interface CloudflareOptions {
  readonly objects: Objects;
  readonly bucket: R2Bucket;
  readonly env?: Env;
  /** CRC-32 function of the platform. It is faster than `base/hash.ts`. */
  readonly crc32?: Crc32;
  /** Keeps the Worker alive after the response until the work is done. */
  waitUntil?(work: Promise<unknown>): void;
}

/**
 * Opens a store of Durable Objects with SQLite, and R2 for large blobs. Every request opens its own engine, which is
 * cheap, because the objects do the work.
 */
export function openCloudflare(o: CloudflareOptions): Engine {
  const env = o.env ?? systemEnv;
  // Create the controller on first use: creating it is slow, and most requests do not subscribe.
  let ended: AbortController | undefined;
  const ending = () => {
    ended ??= new AbortController();
    return ended;
  };
  const deferred = new DeferredWork();
  const named = (name: string) => o.objects.get(o.objects.idFromName(name));
  const store: Store = {
    env,
    limits: LIMITS,
    bucket: o.bucket,
    crc32: o.crc32,
    calls: new Calls(named),
    object: (name) => named(objectOf(name)),
    async *objects() {
      for (let after = ''; ; ) {
        const names = await named(DIRECTORY).listObjects(after, DIRECTORY_PAGE);
        for (const name of names) yield named(name);
        if (names.length < DIRECTORY_PAGE) return;
        after = names.at(-1)!;
      }
    },
    waitUntil: (work) => o.waitUntil?.(work),
    get closed() {
      return ending().signal;
    },
  };
  const logs = new CloudflareLogs(store);
  return {
    blobs: new CloudflareBlobs(store),
    records: new CloudflareRecords(store, logs),
    logs,
    index: new CloudflareSearchIndex(store),
    limits: LIMITS,
    now: () => env.now(),
    defer(work, afterMs) {
      const done = deferred.defer(work, Math.min(afterMs ?? 0, MAX_DEFER_MS));
      o.waitUntil?.(done);
    },
    async state() {
      await named(DIRECTORY).listObjects('', 1);
      return { engine: 'Cloudflare', replicas: null, warnings: [] };
    },
    async sweep() {
      const all = { blobs: 0, records: 0, bytes: 0 };
      for await (const object of store.objects()) {
        const { blobs, records, bytes } = await object.sweep(env.now());
        all.blobs += blobs;
        all.records += records;
        all.bytes += bytes;
      }
      return all;
    },
    async usage() {
      const all = { blobs: { count: 0, bytes: 0 }, records: 0, entries: 0, diskBytes: 0 };
      for await (const object of store.objects()) {
        const { blobs, records, entries, diskBytes } = await object.totals();
        all.blobs.count += blobs.count;
        all.blobs.bytes += blobs.bytes;
        all.records += records;
        all.entries += entries;
        all.diskBytes += diskBytes;
      }
      return all;
    },
    async [Symbol.asyncDispose]() {
      await deferred.settle();
      ending().abort();
    },
  };
}
