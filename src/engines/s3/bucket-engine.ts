import { isRelayError } from '../../base/errors.ts';
import { damagedBodyError } from '../../kernel/block-hashes.ts';
import type { Engine, SweepResult, Usage } from '../../kernel/engine.ts';
import type { Moving } from '../../kernel/moving.ts';
import { sha256 as hashOf } from '../body-hashes.ts';
import { BucketBlobs, ORPHAN_MS } from './blobs.ts';
import { type Place, StoreBucket, type StoreBucketOptions } from './store-bucket.ts';
import { BODY_BYTES_MAX, BUCKET_RECORD, STUB_BYTES } from './stub.ts';

/** Default size in bytes above which a blob is stored in the bucket. */
const BUCKET_ABOVE_BYTES = 1024 * 1024;
/** Time in ms between two sweeps of the bucket. A sweep lists all objects and all blobs, so it is expensive. */
const SWEEP_EVERY_MS = 3_600_000;

export interface BucketEngineOptions extends StoreBucketOptions {
  /** Returns true for a key whose blob is stored in the wrapped engine whatever its size, never in the bucket. */
  readonly stays?: (key: string) => boolean;
  readonly above?: number;
  readonly orphanMs?: number;
  readonly partBytes?: number;
}

export interface BucketEngine extends Engine {
  readonly blobs: BucketBlobs;
}

/**
 * Wraps an engine so that large blobs are stored in a bucket of any kind. The address of the bucket comes from the
 * options or from the store.
 */
export async function withObjectBucket<E extends Engine>(
  inner: E,
  o: BucketEngineOptions,
): Promise<E & BucketEngine> {
  const store = new StoreBucket(inner.records, o);
  await store.open();
  const count = new BucketCount(inner.now);
  const blobs = new BucketBlobs(inner.blobs, {
    store,
    above: o.above ?? BUCKET_ABOVE_BYTES,
    stays: o.stays ?? (() => false),
    partBytes: o.partBytes,
    uploaded: (bytes) => count.add(bytes),
  });
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    ...inner,
    ...(inner.moving ? { moving: movingWithBucket(inner.moving, blobs) } : {}),
    blobs,
    limits: { ...inner.limits, blobBytes: Math.min(inner.limits.blobBytes, BODY_BYTES_MAX) },
    async sweep(): Promise<SweepResult> {
      const swept = await inner.sweep();
      const place = await store.place();
      if (place === null || inner.now() - sweptAt < SWEEP_EVERY_MS) return swept;
      sweptAt = inner.now();
      const found = await sweepBucket(place, { blobs, orphanMs: o.orphanMs ?? ORPHAN_MS }).catch(
        ignoreOutage,
      );
      if (found === null) return swept;
      count.set(found.left);
      const { freed, waiting } = found;
      const bytes = swept.bytes + freed.bytes;
      waiting.count += swept.waiting?.count ?? 0;
      return { ...swept, blobs: swept.blobs + freed.count, bytes, ...(waiting.count > 0 ? { waiting } : {}) };
    },
    async usage(): Promise<Usage> {
      const place = await store.place();
      if (place === null) return inner.usage();
      const [usage, bytes] = await Promise.all([inner.usage(), count.of(place)]);
      const { blobs } = usage;
      return {
        ...usage,
        blobs: { ...blobs, bytes: blobs.bytes + (bytes ?? 0) },
        bucket: { name: `${place.bucket.name}/${place.bucket.prefix}${place.id}`, bytes },
      };
    },
    async state() {
      const [state, place] = [await inner.state(), await store.place()];
      if (place === null) return state;
      const { name, outage } = place.bucket;
      const warnings = [...state.warnings];
      if (outage !== null)
        warnings.push(
          `The bucket ${name} cannot be used, so large payloads cannot be stored or read: ${outage}.`,
        );
      return { ...state, engine: `${state.engine}, large payloads in ${name}`, warnings };
    },
  };
}

/** Returns null if the bucket is unavailable. Throws any other error. */
function ignoreOutage(error: unknown): null {
  if (isRelayError(error, 'bucket_unavailable')) return null;
  throw error;
}

/**
 * Exports and imports the bytes of blobs instead of their stubs. The target store puts large blobs into its own
 * bucket.
 */
function movingWithBucket(inner: Moving, blobs: BucketBlobs): Moving {
  return {
    ...inner,
    async *exportBlobs(prefix) {
      for await (const blob of inner.exportBlobs(prefix)) {
        const stub = blob.size === STUB_BYTES ? await blobs.stub(blob.key) : null;
        yield stub ? { ...blob, size: stub.size, sha256: stub.sha256 } : blob;
      }
    },
    async *exportRecords() {
      for await (const record of inner.exportRecords()) if (record.key !== BUCKET_RECORD) yield record;
    },
    async importBlob(blob, body) {
      const { key, size, sha256, expiresAt } = blob;
      const target = await blobs.divert(key, body, { size, expiresAt });
      if (target.info === undefined) return inner.importBlob(blob, target.body);
      if (target.info.sha256 !== sha256) throw damagedBodyError(`the body ${key}`, 'altered');
      const stub = target.body as Uint8Array;
      await inner.importBlob({ ...blob, size: stub.length, sha256: hashOf(stub) }, stub);
    },
  };
}

interface Amount {
  count: number;
  bytes: number;
}

/**
 * Deletes objects without a stub and unfinished uploads that are older than `orphanMs`. Lists the objects before the
 * stubs, so that a stub that is written meanwhile belongs to a younger object. Returns the deleted objects, the
 * orphans that are too young, and the remaining bytes.
 */
async function sweepBucket(
  { id, bucket }: Place,
  o: { readonly blobs: BucketBlobs; readonly orphanMs: number },
): Promise<{ freed: Amount; waiting: Amount; left: number }> {
  const orphans = new Map<string, { readonly size: number; readonly ageMs: number }>();
  const freed: Amount = { count: 0, bytes: 0 };
  const waiting: Amount = { count: 0, bytes: 0 };
  let left = 0;
  for await (const { name, size, ageMs } of bucket.list(`${id}/`)) {
    left += size;
    orphans.set(name, { size, ageMs });
  }
  if (orphans.size > 0) for await (const name of o.blobs.objects()) orphans.delete(name);
  for (const [name, { size, ageMs }] of orphans) {
    const isOld = ageMs > o.orphanMs;
    if (isOld) await bucket.delete(name);
    const amount = isOld ? freed : waiting;
    amount.count++;
    amount.bytes += size;
  }
  for (const { name, id: upload, ageMs } of await bucket.uploads(`${id}/`)) {
    if (ageMs > o.orphanMs) await bucket.abort(name, upload);
    else waiting.count++;
  }
  return { freed, waiting, left: left - freed.bytes };
}

/** Time in ms after which the bytes in the bucket are counted again. Counting needs one request per 1000 objects. */
const RECOUNT_MS = 3_600_000;
/** Time in ms between two attempts to count while the bucket is unavailable. */
const OUTAGE_RETRY_MS = 60_000;

/**
 * Number of bytes that a store has in its bucket: the result of the last listing plus the later uploads of this
 * process.
 */
class BucketCount {
  readonly #now: () => number;
  #bytes: number | null = null;
  #until = Number.NEGATIVE_INFINITY;
  #counting: Promise<void> | null = null;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(bytes: number): void {
    if (this.#bytes !== null) this.#bytes += bytes;
  }

  /** Sets the number of bytes from the listing of a sweep. Null means that the bucket is unavailable. */
  set(bytes: number | null): void {
    this.#bytes = bytes;
    this.#until = this.#now() + (bytes === null ? OUTAGE_RETRY_MS : RECOUNT_MS);
  }

  /** Returns the number of bytes in the bucket, or null if the bucket is unavailable. Recounts from time to time. */
  async of(place: Place): Promise<number | null> {
    if (this.#now() >= this.#until) {
      this.#counting ??= this.#count(place).finally(() => {
        this.#counting = null;
      });
      await this.#counting;
    }
    return this.#bytes;
  }

  async #count({ id, bucket }: Place): Promise<void> {
    let bytes = 0;
    try {
      for await (const { size } of bucket.list(`${id}/`)) bytes += size;
      this.set(bytes);
    } catch (error) {
      if (!isRelayError(error, 'bucket_unavailable')) throw error;
      this.set(null);
    }
  }
}
