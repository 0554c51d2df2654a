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

/** A row takes 2 MB, and all of what is stored beside the value counts. */
const LIMITS: EngineLimits = {
  recordBytes: 1_900_000,
  entryBytes: 1_900_000,
  blobBytes: 64 * 1024 * 1024,
  // Indexing 1 MiB takes an object a few hundred milliseconds, in which it answers nobody else.
  indexedBytes: 1024 * 1024,
  durability: 'quorum',
  shortLived: true,
};

/** How long work is put off at most: a request may go on for 30 seconds behind its answer, and must not be counted on for all of them. */
const DEFER_MS = 1_000;
/** Objects that one question to the directory names. */
const LISTED_AT_ONCE = 100;

export interface CloudflareOptions {
  readonly objects: Objects;
  readonly bucket: R2Bucket;
  readonly env?: Env;
  /** The platform's, which is faster than our own. */
  readonly crc32?: Crc32;
  /** Keeps the Worker alive for what is written behind an answer. */
  waitUntil?(work: Promise<unknown>): void;
}

/**
 * Durable Objects for rows, R2 for bodies that are too large for one. Opening it costs nothing, since all is done by the objects; it
 * is opened for each request, whose end it does not outlive.
 */
export function openCloudflare(o: CloudflareOptions): Engine {
  const env = o.env ?? systemEnv;
  // Made when it is first asked for: most requests subscribe to nothing, and it takes a while to make.
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
        const names = await named(DIRECTORY).listObjects(after, LISTED_AT_ONCE);
        for (const name of names) yield named(name);
        if (names.length < LISTED_AT_ONCE) return;
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
      const done = deferred.defer(work, Math.min(afterMs ?? 0, DEFER_MS));
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
