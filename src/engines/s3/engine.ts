import { crc32 } from '../../base/crc32.ts';
import { isRelayError } from '../../base/errors.ts';
import { toHex } from '../../base/ids.ts';
import type { Crc32 } from '../../kernel/block-hashes.ts';
import type { Engine, Swept, Usage } from '../../kernel/engine.ts';
import type { Moving } from '../../kernel/moving.ts';
import { parseBucket } from './address.ts';
import { BucketBlobs } from './blobs.ts';
import { Bucket, type BucketOptions } from './bucket.ts';
import { BucketMoving } from './moving.ts';
import { BODY_BYTES_MAX, BUCKET_RECORD } from './stub.ts';
import { sweepBucket } from './sweep.ts';
import { ORPHAN_MS } from './upload.ts';

/** A body above this is worth a request to another machine. */
const ABOVE_BYTES = 1024 * 1024;
/** A sweep of the bucket lists all of its objects and all bodies of the store, which is more than a minute's work may be. */
const SWEEP_EVERY_MS = 3_600_000;

export interface BucketOfStore extends BucketOptions {
  /** `s3://bucket/prefix?endpoint=…&region=…`; where there is none, the one that the store knows. */
  readonly address: string | null;
  readonly env: { readonly [name: string]: string | undefined };
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

interface Known {
  readonly id: string;
  readonly address: string;
}

/** The same engine with its large bodies in a bucket; itself, where neither the caller nor the store names one. */
export async function withBucket<E extends Engine>(
  inner: E,
  o: BucketOfStore,
): Promise<E | (E & BucketEngine)> {
  const known = await recordOf(inner, o.address);
  if (known === null) return inner;
  const bucket = new Bucket(parseBucket(known.address, o.env), o);
  const blobs = new BucketBlobs(inner.blobs, {
    ...{ storeId: known.id, bucket },
    above: o.above ?? ABOVE_BYTES,
    stays: o.stays ?? (() => false),
    crc32: o.crc32 ?? crc32,
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
      if (inner.now() - sweptAt < SWEEP_EVERY_MS) return swept;
      sweptAt = inner.now();
      const freed = await sweepBucket(bucket, {
        storeId: known.id,
        blobs,
        orphanMs: o.orphanMs ?? ORPHAN_MS,
      }).catch(ifOut);
      return { ...swept, bytes: swept.bytes + (freed ?? 0) };
    },
    async usage(): Promise<Usage> {
      const [usage, found] = await Promise.all([inner.usage(), usageOf(bucket, known.id).catch(ifOut)]);
      const { blobs } = usage;
      const bytes = blobs.bytes + (found?.bytes ?? 0);
      return {
        ...usage,
        blobs: { ...blobs, bytes },
        bucket: { name: bucket.name, bytes: found?.bytes ?? null },
      };
    },
    async state() {
      const state = await inner.state();
      const warnings = [...state.warnings];
      if (bucket.outage !== null)
        warnings.push(
          `The bucket ${bucket.name} cannot be used, and large bodies with it: ${bucket.outage}.`,
        );
      return { ...state, engine: `${state.engine}, large bodies in ${bucket.name}`, warnings };
    },
  };
}

/** What the store knows of its bucket, brought up to date. Of several servers that begin with one, all use the first one's id. */
async function recordOf({ records }: Engine, address: string | null): Promise<Known | null> {
  for (;;) {
    const found = await records.get(BUCKET_RECORD);
    const known = found?.value as (Known & { readonly [name: string]: string }) | undefined;
    if (address === null || known?.address === address) return known ?? null;
    const id = known?.id ?? toHex(crypto.getRandomValues(new Uint8Array(16)));
    if (await records.put(BUCKET_RECORD, { id, address }, { expect: found?.revision ?? 'absent' }))
      return { id, address };
  }
}

async function usageOf(bucket: Bucket, storeId: string): Promise<{ bytes: number }> {
  let bytes = 0;
  for await (const { size } of bucket.list(`${storeId}/`)) bytes += size;
  return { bytes };
}

/** An outage of the bucket is in the way of nothing that can do without. */
function ifOut(error: unknown): null {
  if (isRelayError(error, 'bucket_unavailable')) return null;
  throw error;
}
