import { isRelayError } from '../../base/errors.ts';
import { crc32 } from '../../base/hash.ts';
import type { Crc32 } from '../../kernel/block-hashes.ts';
import type { Engine, Swept, Usage } from '../../kernel/engine.ts';
import type { Moving } from '../../kernel/moving.ts';
import { BucketBlobs } from './blobs.ts';
import { BucketCount } from './bucket-count.ts';
import { BucketMoving } from './moving.ts';
import { StoreBucket, type StoreBucketOptions } from './store-bucket.ts';
import { BODY_BYTES_MAX } from './stub.ts';
import { sweepBucket } from './sweep.ts';
import { ORPHAN_MS } from './upload.ts';

/** A body above this is worth a request to another machine. */
const ABOVE_BYTES = 1024 * 1024;
/** A sweep of the bucket lists all of its objects and all bodies of the store, which is more than a minute's work may be. */
const SWEEP_EVERY_MS = 3_600_000;

export interface BucketOfStore extends StoreBucketOptions {
  /** Bodies that stay with the engine, however large. */
  readonly stays?: (key: string) => boolean;
  readonly above?: number;
  readonly orphanMs?: number;
  /** A faster one than our own. */
  readonly crc32?: Crc32;
}

export interface BucketEngine extends Engine {
  readonly blobs: BucketBlobs;
}

/** The same engine with its large bodies in the bucket that the caller or the store names, or another process will have named. */
export async function withBucket<E extends Engine>(inner: E, o: BucketOfStore): Promise<E & BucketEngine> {
  const store = new StoreBucket(inner.records, o);
  await store.open();
  const count = new BucketCount(inner.now);
  const blobs = new BucketBlobs(inner.blobs, {
    store,
    above: o.above ?? ABOVE_BYTES,
    stays: o.stays ?? (() => false),
    crc32: o.crc32 ?? crc32,
    uploaded: (bytes) => count.add(bytes),
  });
  const moving: { moving?: Moving } = inner.moving ? { moving: new BucketMoving(inner.moving, blobs) } : {};
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    ...inner,
    ...moving,
    blobs,
    limits: { ...inner.limits, blobBytes: Math.min(inner.limits.blobBytes, BODY_BYTES_MAX) },
    async sweep(): Promise<Swept> {
      const swept = await inner.sweep();
      const place = await store.place();
      if (place === null || inner.now() - sweptAt < SWEEP_EVERY_MS) return swept;
      sweptAt = inner.now();
      const found = await sweepBucket(place, { blobs, orphanMs: o.orphanMs ?? ORPHAN_MS }).catch(ifOut);
      if (found !== null) count.set(found.left);
      return { ...swept, bytes: swept.bytes + (found?.freed ?? 0) };
    },
    async usage(): Promise<Usage> {
      const place = await store.place();
      if (place === null) return inner.usage();
      const [usage, bytes] = await Promise.all([inner.usage(), count.of(place)]);
      const { blobs } = usage;
      return {
        ...usage,
        blobs: { ...blobs, bytes: blobs.bytes + (bytes ?? 0) },
        bucket: { name: place.bucket.name, bytes },
      };
    },
    async state() {
      const [state, place] = [await inner.state(), await store.place()];
      if (place === null) return state;
      const { name, outage } = place.bucket;
      const warnings = [...state.warnings];
      if (outage !== null)
        warnings.push(`The bucket ${name} cannot be used, and large bodies with it: ${outage}.`);
      return { ...state, engine: `${state.engine}, large bodies in ${name}`, warnings };
    },
  };
}

/** An outage of the bucket is in the way of nothing that can do without. */
function ifOut(error: unknown): null {
  if (isRelayError(error, 'bucket_unavailable')) return null;
  throw error;
}
