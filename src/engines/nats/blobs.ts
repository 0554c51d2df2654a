import { createHash, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import {
  checkExpiry,
  checkKey,
  checkLimit,
  checkRange,
  checkSize,
  checkText,
  intake,
  settleExpiry,
} from '../../kernel/admission.ts';
import type {
  BlobBody,
  BlobInfo,
  BlobItem,
  BlobOptions,
  BlobPage,
  Blobs,
  ByteRange,
} from '../../kernel/blobs.ts';
import { BLOCK_BYTES, BlockHashes, blocksAround, damagedBody, isIntact } from '../../kernel/block-hashes.ts';
import type { KeptBlob } from '../../kernel/moving.ts';
import type { Staged } from '../../kernel/records.ts';
import type { Stored as Message } from './connection.ts';
import { Listing } from './listing.ts';
import { filterOf, keyOf, subjectOf } from './names.ts';
import { type Store, ttlOf } from './store.ts';

/** A body up to this comes with its manifest; larger ones are cut into chunks of this, whole blocks each. */
export const CHUNK_BYTES = 4 * BLOCK_BYTES;

/** Chunks on their way at once. */
const WINDOW = 4;

export interface Manifest {
  readonly size: number;
  readonly sha256: string;
  readonly at: number;
  readonly expiresAt?: number;
  /** The CRC-32 of each block, in base64. */
  readonly blocks: string;
  /** Under which name its chunks are; absent where the body is in the message itself. */
  readonly chunks?: string;
  /** Where the subject does not tell it. */
  readonly key?: string;
}

interface PutOptions extends BlobOptions {
  /** Of one that was stored elsewhere before. */
  readonly sha256?: string;
  readonly at?: number;
}

/**
 * The manifest of a body is the last message of the subject that its key stands for, and the commit point of a put; chunks
 * lie under a name that is never used again. What was replaced or deleted keeps its chunks until a sweep, for those who read.
 */
export class NatsBlobs implements Blobs {
  readonly #store: Store;
  readonly #listing: Listing<BlobItem>;
  readonly #stream: string;

  constructor(store: Store) {
    this.#store = store;
    this.#stream = store.streams.blobs;
    this.#listing = new Listing(store, this.#stream, `${store.name}.m.`, (message, key) => {
      const { manifest } = parse(message);
      return this.#isLive(manifest)
        ? { key: key ?? manifest.key!, size: manifest.size, at: manifest.at }
        : null;
    });
  }

  put(key: string, body: BlobBody, o: BlobOptions = {}): Promise<BlobInfo> {
    return this.#put(key, body, o);
  }

  /** All of them, with what the port does not tell. */
  async *export(prefix: string): AsyncGenerator<KeptBlob> {
    for await (const { messages } of this.#listing.all(prefix === '' ? '>' : filterOf(prefix))) {
      for (const message of messages) {
        const { size, sha256, at, expiresAt, key: named } = parse(message).manifest;
        const key = keyOf(message.subject.slice(this.#store.name.length + '.m.'.length)) ?? named!;
        const kept = { key, size, sha256, at, ...(expiresAt === undefined ? {} : { expiresAt }) };
        if (this.#isLive(kept) && key.startsWith(prefix)) yield kept;
      }
    }
  }

  /** With its time; nothing is stored where it is not what was exported. */
  async import({ key, ...kept }: KeptBlob, body: BlobBody): Promise<void> {
    await this.#put(key, body, kept);
  }

  async #put(key: string, body: BlobBody, o: PutOptions): Promise<BlobInfo> {
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const limits = { size: o.size, max: this.#store.limits.blobBytes };
    if (body instanceof Uint8Array) checkSize(body, limits);
    // Taken before anything is awaited: it is the caller's again afterwards.
    const whole = body instanceof Uint8Array ? new Uint8Array(body) : body;
    const taken = await this.#take(key, intake(whole, limits));
    const expiresAt = await settleExpiry(o.expiresAt);
    const { rest, ...manifest } = taken;
    // Chunks that no manifest names go with a sweep.
    if ((o.sha256 ?? taken.sha256) !== taken.sha256) throw damagedBody(`the body ${key}`, 'altered');
    await this.#commit(key, { ...manifest, at: o.at ?? this.#store.env.now(), expiresAt }, rest);
    return { size: taken.size, sha256: taken.sha256 };
  }

  async stage(key: string, body: BlobBody, o?: BlobOptions): Promise<Staged & BlobInfo> {
    return { key, ...(await this.put(key, body, o)) };
  }

  async get(key: string, range?: ByteRange): Promise<{ body: BlobBody; size: number } | null> {
    checkKey('a key', key);
    const message = await this.#store.connection.last(this.#stream, this.#subject(key));
    const found = message && parse(message);
    if (!found || !this.#isLive(found.manifest)) return null;
    const { manifest, rest } = found;
    const { size } = manifest;
    if (range) checkRange(range, size);
    const { start, end } = range ?? { start: 0, end: size };
    if (manifest.chunks === undefined) {
      if (rest.length !== size) throw damagedBody(`the body ${key}`, 'cut');
      check(key, manifest, rest, 0, { start, end });
      return { body: rest.subarray(start, end), size };
    }
    // The first bytes are checked before a reader is given anything.
    const first = start < end ? await this.#piece(key, manifest, start, end) : undefined;
    return { body: this.#body(key, manifest, { start, end }, first), size };
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    const subject = this.#subject(key);
    this.#store.expiries.forget(subject);
    await this.#store.connection.api(`STREAM.PURGE.${this.#stream}`, { filter: subject });
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<BlobPage> {
    checkText('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    return this.#listing.page(prefix, { after: o.after, limit });
  }

  /** How many there are and what they hold; looks at each of them. */
  async usage(): Promise<{ count: number; bytes: number }> {
    const sum = { count: 0, bytes: 0 };
    for await (const { messages } of this.#listing.all('>')) {
      for (const { manifest } of messages.map(parse)) {
        if (!this.#isLive(manifest)) continue;
        sum.count++;
        sum.bytes += manifest.size;
      }
    }
    return sum;
  }

  /** The manifests under keys, whether they have expired or not, at least as the leader had them at a sequence. */
  async manifests(keys: readonly string[], last: number): Promise<Map<string, Manifest>> {
    const subjects = new Map(keys.map((key) => [this.#subject(key), key]));
    const found = await this.#listing.messages([...subjects.keys()], last);
    return new Map(
      [...found.values()].map((message) => [subjects.get(message.subject)!, parse(message).manifest]),
    );
  }

  #subject(key: string): string {
    return `${this.#store.name}.m.${subjectOf(key)}`;
  }

  #isLive({ expiresAt }: Pick<Manifest, 'expiresAt'>): boolean {
    return expiresAt === undefined || expiresAt > this.#store.env.now();
  }

  /** Stores the chunks as they come. A body of one chunk is given back instead. */
  async #take(key: string, pieces: AsyncGenerator<Uint8Array>) {
    const sha256 = createHash('sha256');
    const blocks = new BlockHashes(crc32);
    const name = hash('sha256', crypto.randomUUID(), 'hex').slice(0, 32);
    const chunk = new Uint8Array(CHUNK_BYTES);
    const sending = new Set<Promise<void>>();
    let size = 0;
    let filled = 0;
    let sent = 0;
    let failed: { error: unknown } | undefined;
    const send = async () => {
      if (sent === 0) await this.#announce(key, name);
      const subject = `${this.#chunks(name)}.${sent++}`;
      const publishing: Promise<void> = this.#store.connection
        .publish(subject, chunk.slice(0, filled))
        .then(
          () => {},
          (error) => {
            failed = { error };
          },
        )
        .finally(() => sending.delete(publishing));
      sending.add(publishing);
      filled = 0;
      if (sending.size >= WINDOW) await Promise.race(sending);
      if (failed) throw failed.error;
    };
    try {
      for await (const piece of pieces) {
        sha256.update(piece);
        blocks.update(piece);
        size += piece.length;
        for (let at = 0; at < piece.length; ) {
          if (filled === CHUNK_BYTES) await send();
          const part = piece.subarray(at, at + CHUNK_BYTES - filled);
          chunk.set(part, filled);
          filled += part.length;
          at += part.length;
        }
      }
      if (sent > 0 && filled > 0) await send();
      await Promise.all(sending);
      if (failed) throw (failed as { error: unknown }).error;
    } catch (error) {
      await Promise.all(sending);
      if (sent > 0) await this.removeChunks(name).catch(() => {});
      throw error;
    }
    return {
      size,
      sha256: sha256.digest('hex'),
      blocks: Buffer.from(blocks.digest()).toString('base64'),
      ...(sent > 0 ? { chunks: name } : {}),
      rest: chunk.subarray(0, sent > 0 ? 0 : filled),
    };
  }

  #chunks(name: string): string {
    return `${this.#store.name}.c.${name}`;
  }

  /** Whose chunks they are going to be, for the sweep that finds them without a manifest. */
  async #announce(key: string, name: string): Promise<void> {
    const intent = JSON.stringify({ key });
    await this.#store.connection.publish(`${this.#chunks(name)}.k`, Buffer.from(intent));
  }

  async removeChunks(name: string): Promise<void> {
    await this.#store.connection.api(`STREAM.PURGE.${this.#stream}`, { filter: `${this.#chunks(name)}.*` });
  }

  async #commit(key: string, manifest: Manifest, rest: Uint8Array): Promise<void> {
    const { connection, env, expiries } = this.#store;
    const subject = this.#subject(key);
    const named = subjectOf(key).includes('~') ? { ...manifest, key } : manifest;
    const payload = Buffer.concat([Buffer.from(`${JSON.stringify(named)}\n`), rest]);
    const ttl = ttlOf(manifest.expiresAt, env.now());
    await connection.publish(subject, payload, { ttl });
    if (manifest.expiresAt === undefined) return expiries.forget(subject);
    const { expiresAt, size: bytes } = manifest;
    expiries.note({ subject, stream: this.#stream, expiresAt, bytes });
  }

  #body(key: string, manifest: Manifest, { start, end }: ByteRange, first: Uint8Array | undefined) {
    let at = start;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          if (at >= end) return controller.close();
          const piece = (at === start && first) || (await this.#piece(key, manifest, at, end));
          at += piece.length;
          controller.enqueue(piece);
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** What one chunk has of the body from `at` on, its blocks checked as far as they are intact. */
  async #piece(key: string, manifest: Manifest, at: number, end: number): Promise<Uint8Array> {
    const { connection } = this.#store;
    const index = Math.floor(at / CHUNK_BYTES);
    const offset = index * CHUNK_BYTES;
    const subject = `${this.#chunks(manifest.chunks!)}.${index}`;
    // Chunks are never written again, so a server that has it has the right one; the leader has it in any case.
    const near = await connection.batch(this.#stream, { multi_last: [subject] });
    const chunk = (near?.messages[0] ?? (await connection.last(this.#stream, subject)))?.data;
    if (chunk?.length !== Math.min(CHUNK_BYTES, manifest.size - offset))
      throw damagedBody(`the body ${key}`, chunk ? 'cut' : 'missing');
    const wanted = { start: at, end: Math.min(end, offset + chunk.length) };
    const { start: first } = blocksAround(wanted, manifest.size);
    // A damaged block spoils what follows it, but not what comes before.
    for (let intact = first; intact < wanted.end; intact += BLOCK_BYTES) {
      const block = { start: Math.max(at, intact), end: Math.min(intact + BLOCK_BYTES, wanted.end) };
      if (isBlockIntact(manifest, chunk, offset, block)) continue;
      if (block.start === at) throw damagedBody(`the body ${key}`, 'altered');
      return chunk.subarray(at - offset, block.start - offset);
    }
    return chunk.subarray(at - offset, wanted.end - offset);
  }
}

/** `bytes` begin at `offset` of the body; those of the range are checked, in whole blocks. */
function isBlockIntact(manifest: Manifest, bytes: Uint8Array, offset: number, range: ByteRange): boolean {
  const { start, end } = blocksAround(range, manifest.size);
  const hashes = Buffer.from(manifest.blocks, 'base64');
  return isIntact(bytes.subarray(start - offset, end - offset), hashes, start, crc32);
}

function check(key: string, manifest: Manifest, bytes: Uint8Array, offset: number, range: ByteRange): void {
  if (!isBlockIntact(manifest, bytes, offset, range)) throw damagedBody(`the body ${key}`, 'altered');
}

function parse(message: Message): { manifest: Manifest; rest: Uint8Array } {
  const bytes = Buffer.from(message.data.buffer, message.data.byteOffset, message.data.byteLength);
  const end = bytes.indexOf(0x0a);
  return {
    manifest: JSON.parse(bytes.subarray(0, end).toString()) as Manifest,
    rest: new Uint8Array(bytes.subarray(end + 1)),
  };
}
