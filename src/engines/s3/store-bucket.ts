import { toHex } from '../../base/ids.ts';
import type { Records } from '../../kernel/records.ts';
import { parseBucket } from './address.ts';
import { Bucket, type BucketOptions } from './bucket.ts';
import { BUCKET_RECORD } from './stub.ts';

export interface StoreBucketOptions extends BucketOptions {
  /** `s3://bucket/prefix?endpoint=…&region=…`; where there is none, the one that the store knows. */
  readonly address: string | null;
  readonly env: { readonly [name: string]: string | undefined };
}

/** Where the objects of a store are: their names begin with its id. */
export interface Place {
  readonly id: string;
  readonly bucket: Bucket;
}

/**
 * Which bucket a store has. The store knows it from its first object on, and nothing is written before: an empty store stays one.
 * Whoever has the store open finds out when it meets what may be a stub, also if it was opened before there was a bucket.
 */
export class StoreBucket {
  readonly #records: Records;
  readonly #o: StoreBucketOptions;
  #known: Place | null = null;
  /** What becomes known with the first object, unless another process has one first. */
  readonly #proposed: Place | null;

  constructor(records: Records, o: StoreBucketOptions) {
    this.#records = records;
    this.#o = o;
    const id = toHex(crypto.getRandomValues(new Uint8Array(16)));
    this.#proposed = o.address === null ? null : this.#place(id, o.address);
  }

  /** To be called first: an address that was given wins over the one that the store knows. */
  async open(): Promise<void> {
    const { address } = this.#o;
    for (let isKnown = false; !isKnown; ) {
      const found = await this.#records.get(BUCKET_RECORD);
      if (found === null) return;
      const known = found.value as { id: string; address: string };
      isKnown = address === null || address === known.address;
      if (!isKnown) {
        const value = { id: known.id, address: address! };
        isKnown = (await this.#records.put(BUCKET_RECORD, value, { expect: found.revision })) !== null;
      }
      this.#known = this.#place(known.id, address ?? known.address);
    }
  }

  /** Whether there is one to put anything into, as far as is known. */
  get isNamed(): boolean {
    return (this.#known ?? this.#proposed) !== null;
  }

  /** Null while the store has no objects. */
  async known(): Promise<Place | null> {
    if (this.#known === null) await this.open();
    return this.#known;
  }

  /** Where objects are, or would be; null where there is no bucket. */
  async place(): Promise<Place | null> {
    return (await this.known()) ?? this.#proposed;
  }

  /** To be called before an object is put. Of several processes that begin, all use the id of the first. */
  async claim(): Promise<Place> {
    for (;;) {
      const known = await this.known();
      if (known !== null) return known;
      const value = { id: this.#proposed!.id, address: this.#o.address! };
      if (await this.#records.put(BUCKET_RECORD, value, { expect: 'absent' })) this.#known = this.#proposed;
    }
  }

  #place(id: string, address: string): Place {
    return { id, bucket: new Bucket(parseBucket(address, this.#o.env), this.#o) };
  }
}
