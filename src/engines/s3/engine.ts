import type { Engine } from '../../kernel/engine.ts';
import { parseBucket } from './address.ts';
import { Bucket, type BucketOptions } from './bucket.ts';
import { type BucketEngine, type BucketEngineOptions, withObjectBucket } from './bucket-engine.ts';

export type { BucketEngine };

export interface S3Options extends Omit<BucketEngineOptions, 'open'>, BucketOptions {
  /** Environment with the credentials of the bucket. */
  readonly env: { readonly [name: string]: string | undefined };
}

/** Wraps an engine so that large blobs are stored in an S3 bucket. */
export function withBucket<E extends Engine>(inner: E, o: S3Options): Promise<E & BucketEngine> {
  return withObjectBucket(inner, { ...o, open: (address) => new Bucket(parseBucket(address, o.env), o) });
}
