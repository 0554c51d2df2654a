import { hash } from 'node:crypto';
import type { BlobBody } from '../../kernel/blobs.ts';
import { damagedBody } from '../../kernel/block-hashes.ts';
import type {
  Departure,
  KeptBlob,
  KeptDocument,
  KeptEntry,
  KeptLog,
  KeptRecord,
  Moving,
} from '../../kernel/moving.ts';
import type { BucketBlobs } from './blobs.ts';
import { BUCKET_RECORD, STUB_BYTES } from './stub.ts';

/** A store leaves its bucket behind: what is copied are the bodies themselves, and where they arrive large ones go into the bucket there, if there is one. */
export class BucketMoving implements Moving {
  readonly #inner: Moving;
  readonly #blobs: BucketBlobs;

  constructor(inner: Moving, blobs: BucketBlobs) {
    this.#inner = inner;
    this.#blobs = blobs;
  }

  async *exportBlobs(prefix?: string): AsyncGenerator<KeptBlob> {
    for await (const kept of this.#inner.exportBlobs(prefix)) {
      const stub = kept.size === STUB_BYTES ? await this.#blobs.stub(kept.key) : null;
      yield stub ? { ...kept, size: stub.size, sha256: stub.sha256 } : kept;
    }
  }

  async *exportRecords(): AsyncGenerator<KeptRecord> {
    for await (const kept of this.#inner.exportRecords()) if (kept.key !== BUCKET_RECORD) yield kept;
  }

  exportLogs(): AsyncIterable<KeptLog> {
    return this.#inner.exportLogs();
  }

  exportLog(stream: string): Promise<KeptLog | null> {
    return this.#inner.exportLog(stream);
  }

  exportEntries(stream: string, after: number): AsyncIterable<KeptEntry> {
    return this.#inner.exportEntries(stream, after);
  }

  exportDocuments(): AsyncIterable<KeptDocument> {
    return this.#inner.exportDocuments();
  }

  highest(): Promise<number> {
    return this.#inner.highest();
  }

  prepare(above: number): Promise<void> {
    return this.#inner.prepare(above);
  }

  async importBlob(kept: KeptBlob, body: BlobBody): Promise<void> {
    const { key, size, sha256, expiresAt } = kept;
    const diverted = await this.#blobs.divert(key, body, { size, expiresAt });
    if (diverted.info === undefined) return this.#inner.importBlob(kept, diverted.body);
    if (diverted.info.sha256 !== sha256) throw damagedBody(`the body ${key}`, 'altered');
    const stub = diverted.body as Uint8Array;
    const held = { size: stub.length, sha256: hash('sha256', stub) };
    await this.#inner.importBlob({ ...kept, ...held }, stub);
  }

  importRecord(kept: KeptRecord): Promise<void> {
    return this.#inner.importRecord(kept);
  }

  importEntries(log: Pick<KeptLog, 'stream' | 'trimmed'>, entries: readonly KeptEntry[]): Promise<void> {
    return this.#inner.importEntries(log, entries);
  }

  freeze(o: { readonly to: string; readonly ms: number }): Promise<void> {
    return this.#inner.freeze(o);
  }

  leave(o: { readonly to: string }): Promise<boolean> {
    return this.#inner.leave(o);
  }

  thaw(): Promise<void> {
    return this.#inner.thaw();
  }

  departure(): Promise<Departure | null> {
    return this.#inner.departure();
  }
}
