import { toHex } from '../../base/ids.ts';
import type { Records } from '../../kernel/records.ts';
import type { Bucket } from './bucket.ts';
import { BUCKET_RECORD } from './stub.ts';

/** A store of objects by name: an S3 bucket, or an R2 bucket that is bound to a Worker. */
export type ObjectBucket = Omit<Bucket, 'read'> & {
  /** Streams the bytes of a range. Fails with the error of `missing` if there is no object. */
  read(...args: Parameters<Bucket['read']>): ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>;
};

export interface StoreBucketOptions {
  /**
   * Address of the bucket: `s3://bucket/prefix?endpoint=…&region=…`. Null means the address that the store records.
   */
  readonly address: string | null;
  /** Opens the bucket at an address. */
  open(address: string): ObjectBucket;
}

/** Bucket of a store, and the id with which all object names of the store start. */
export interface Place {
  readonly id: string;
  readonly bucket: ObjectBucket;
}

/**
 * The bucket of a store. The record with its address is written directly before the first object, so an empty
 * store stays empty. A process that opened the store before this reads the record when it finds a blob that
 * may be a stub.
 */
export class StoreBucket {
  readonly #records: Records;
  readonly #o: StoreBucketOptions;
  #recorded: Place | null = null;
  /** Bucket that this process records before its first upload, unless another process has already recorded one. */
  readonly #proposed: Place | null;

  constructor(records: Records, o: StoreBucketOptions) {
    this.#records = records;
    this.#o = o;
    const id = toHex(crypto.getRandomValues(new Uint8Array(16)));
    this.#proposed = o.address === null ? null : this.#place(id, o.address);
  }

  /**
   * Reads the bucket record. If the options contain another address, records that address. Must be called before the
   * other methods.
   */
  async open(): Promise<void> {
    const { address } = this.#o;
    for (let isRecorded = false; !isRecorded; ) {
      const found = await this.#records.get(BUCKET_RECORD);
      if (found === null) return;
      const recorded = found.value as { id: string; address: string };
      isRecorded = address === null || address === recorded.address;
      if (!isRecorded) {
        const value = { id: recorded.id, address: address! };
        isRecorded = (await this.#records.put(BUCKET_RECORD, value, { expect: found.revision })) !== null;
      }
      this.#recorded = this.#place(recorded.id, address ?? recorded.address);
    }
  }

  /** True if the record or the options name a bucket. */
  get isNamed(): boolean {
    return (this.#recorded ?? this.#proposed) !== null;
  }

  /** Returns the recorded bucket. Returns null if the store has no objects yet. */
  async recorded(): Promise<Place | null> {
    if (this.#recorded === null) await this.open();
    return this.#recorded;
  }

  /** Returns the recorded bucket, otherwise the bucket of the options, otherwise null. */
  async place(): Promise<Place | null> {
    return (await this.recorded()) ?? this.#proposed;
  }

  /**
   * Records the bucket before the first upload and returns it. If several processes start at once, all of them use
   * the id of the first one.
   */
  async claim(): Promise<Place> {
    for (;;) {
      const recorded = await this.recorded();
      if (recorded !== null) return recorded;
      const value = { id: this.#proposed!.id, address: this.#o.address! };
      if (await this.#records.put(BUCKET_RECORD, value, { expect: 'absent' }))
        this.#recorded = this.#proposed;
    }
  }

  #place(id: string, address: string): Place {
    return { id, bucket: this.#o.open(address) };
  }
}
