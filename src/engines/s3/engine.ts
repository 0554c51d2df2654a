import { hash } from 'node:crypto';
import { isRelayError } from '../../base/errors.ts';
import { damagedBodyError } from '../../kernel/block-hashes.ts';
import type { Engine, SweepResult, Usage } from '../../kernel/engine.ts';
import type { Moving } from '../../kernel/moving.ts';
import { BucketBlobs, ORPHAN_MS } from './blobs.ts';
import { type Place, StoreBucket, type StoreBucketOptions } from './store-bucket.ts';
import { BODY_BYTES_MAX, BUCKET_RECORD, STUB_BYTES } from './stub.ts';

/** A body above this is worth a request to another machine. */
const ABOVE_BYTES = 1024 * 1024;
/** A sweep of the bucket lists all of its objects and all bodies of the store, which is more than a minute's work may be. */
const SWEEP_EVERY_MS = 3_600_000;

export interface BucketOfStore extends StoreBucketOptions {
  /** Bodies that stay with the engine, however large. */
  readonly stays?: (key: string) => boolean;
  readonly above?: number;
  readonly orphanMs?: number;
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
    uploaded: (bytes) => count.add(bytes),
  });
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    ...inner,
    ...(inner.moving ? { moving: movingWithBodies(inner.moving, blobs) } : {}),
    blobs,
    limits: { ...inner.limits, blobBytes: Math.min(inner.limits.blobBytes, BODY_BYTES_MAX) },
    async sweep(): Promise<SweepResult> {
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

/** A store leaves its bucket behind: what is copied are the bodies themselves, and where they arrive large ones go into the bucket there, if there is one. */
function movingWithBodies(inner: Moving, blobs: BucketBlobs): Moving {
  return {
    ...inner,
    async *exportBlobs(prefix) {
      for await (const kept of inner.exportBlobs(prefix)) {
        const stub = kept.size === STUB_BYTES ? await blobs.stub(kept.key) : null;
        yield stub ? { ...kept, size: stub.size, sha256: stub.sha256 } : kept;
      }
    },
    async *exportRecords() {
      for await (const kept of inner.exportRecords()) if (kept.key !== BUCKET_RECORD) yield kept;
    },
    async importBlob(kept, body) {
      const { key, size, sha256, expiresAt } = kept;
      const diverted = await blobs.divert(key, body, { size, expiresAt });
      if (diverted.info === undefined) return inner.importBlob(kept, diverted.body);
      if (diverted.info.sha256 !== sha256) throw damagedBodyError(`the body ${key}`, 'altered');
      const stub = diverted.body as Uint8Array;
      await inner.importBlob({ ...kept, size: stub.length, sha256: hash('sha256', stub) }, stub);
    },
  };
}

/**
 * Deletes the objects of this store that no stub names, and uploads that came to nothing, once they are old enough for nobody to be
 * about to name them. The objects are listed first: what is named later is younger. Gives the bytes that went and those that are left.
 */
async function sweepBucket(
  { id, bucket }: Place,
  o: { readonly blobs: BucketBlobs; readonly orphanMs: number },
): Promise<{ freed: number; left: number }> {
  const orphans = new Map<string, number>();
  let [freed, left] = [0, 0];
  for await (const { name, size, ageMs } of bucket.list(`${id}/`)) {
    left += size;
    if (ageMs > o.orphanMs) orphans.set(name, size);
  }
  if (orphans.size > 0) for await (const name of o.blobs.objects()) orphans.delete(name);
  for (const [name, size] of orphans) {
    await bucket.delete(name);
    freed += size;
  }
  for (const { name, id: upload, ageMs } of await bucket.uploads(`${id}/`))
    if (ageMs > o.orphanMs) await bucket.abort(name, upload);
  return { freed, left: left - freed };
}

/** A listing is a request for every thousand objects, so a process counts them once an hour. */
const COUNT_EVERY_MS = 3_600_000;
/** A bucket that is out is asked again after this. */
const OUT_MS = 60_000;

/** What a bucket holds of a store: as it was last listed, with what this process has put since. */
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

  /** What a listing for another purpose has found. */
  set(bytes: number | null): void {
    this.#bytes = bytes;
    this.#until = this.#now() + (bytes === null ? OUT_MS : COUNT_EVERY_MS);
  }

  /** In bytes; null where the bucket is out. */
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
