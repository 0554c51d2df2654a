import { crc32 } from 'node:zlib';
import { streamFrom } from '../../base/byte-streams.ts';
import { isRelayError } from '../../base/errors.ts';
import { mapConcurrent } from '../../base/map-concurrent.ts';
import type {
  BlobBody,
  BlobInfo,
  BlobItem,
  BlobOptions,
  BlobPage,
  Blobs,
  ByteRange,
} from '../../kernel/blobs.ts';
import {
  alignToBlocks,
  BLOCK_BYTES,
  checkedBody,
  damagedBodyError,
  isIntact,
} from '../../kernel/block-hashes.ts';
import type { ExportedBlob } from '../../kernel/moving.ts';
import type { Staged } from '../../kernel/records.ts';
import {
  checkExpiry,
  checkKey,
  checkLimit,
  checkPrefix,
  checkRange,
  checkSize,
  readPieces,
  resolveExpiry,
} from '../../kernel/validate-input.ts';
import { BodyHashes, type HashedBody } from '../body-hashes.ts';
import type { Message } from './connection.ts';
import { Listing } from './listing.ts';
import { filterOf, keyOf, subjectOf } from './messages.ts';
import { type Store, ttlOf } from './opening.ts';

/**
 * Maximum size in bytes of a blob that is stored in its manifest message. A larger blob is split into chunks of this
 * size.
 */
export const CHUNK_BYTES = 4 * BLOCK_BYTES;

/** Maximum number of chunks of one blob that are published concurrently. */
const CONCURRENT_CHUNKS = 4;

/**
 * Time in ms for which the chunks of an expired or deleted blob stay, so that running reads can finish. It is short
 * enough that, together with `DUE_STEP_MS` and the interval of sweeps, the space is free within two minutes.
 */
const READER_MS = 40_000;

/**
 * The times at which chunks are deleted are rounded up to a multiple of this many ms. A sweep then finds all
 * chunks that are due at one time with one request.
 */
export const DUE_STEP_MS = 15_000;

/** Time in seconds for which the note about a deletion is kept after the chunks are due for deletion. */
const DUE_NOTE_SECONDS = 86_400;

/** Metadata of a blob: the first line of its message. */
export interface Manifest {
  readonly size: number;
  readonly sha256: string;
  /** Time of the write, in ms since the epoch. */
  readonly at: number;
  readonly expiresAt?: number;
  /** CRC-32 checksums of the blocks, in base64. */
  readonly blocks: string;
  /** Name under which the chunks are stored. Absent if the message itself contains the bytes. */
  readonly chunks?: string;
  /** Key of the blob. Present only if the subject contains a hash instead of the key. */
  readonly key?: string;
}

interface PutOptions extends BlobOptions {
  /** Expected hash of an imported blob. */
  readonly sha256?: string;
  /** Write time of an imported blob, in ms. */
  readonly at?: number;
}

/**
 * Blobs in JetStream. The manifest of a blob is the last message of its subject. Publishing the manifest commits a
 * `put`. Chunks have unique names. The chunks of a replaced or deleted blob stay until a sweep, so that running reads
 * can finish.
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

  /** Yields the metadata of all live blobs whose keys start with the prefix. */
  async *export(prefix: string): AsyncGenerator<ExportedBlob> {
    for await (const { messages } of this.#listing.all(prefix === '' ? '>' : filterOf(prefix))) {
      for (const message of messages) {
        const { size, sha256, at, expiresAt, key: named } = parse(message).manifest;
        const key = keyOf(message.subject.slice(this.#store.name.length + '.m.'.length)) ?? named!;
        const blob = { key, size, sha256, at, ...(expiresAt === undefined ? {} : { expiresAt }) };
        if (this.#isLive(blob) && key.startsWith(prefix)) yield blob;
      }
    }
  }

  /** Stores an exported blob with its original time. Throws and stores nothing if the bytes do not match its hash. */
  async import({ key, ...blob }: ExportedBlob, body: BlobBody): Promise<void> {
    await this.#put(key, body, blob);
  }

  async #put(key: string, body: BlobBody, o: PutOptions): Promise<BlobInfo> {
    checkKey('a key', key);
    if (typeof o.expiresAt === 'number') checkExpiry(o.expiresAt);
    const limits = { size: o.size, max: this.#store.limits.blobBytes };
    if (body instanceof Uint8Array) checkSize(body, limits);
    // Copy the bytes before the first await, because the caller may change its buffer afterwards.
    const source = body instanceof Uint8Array ? new Uint8Array(body) : body;
    const stored = await this.#storeChunks(key, readPieces(source, limits));
    const expiresAt = await resolveExpiry(o.expiresAt);
    const { rest, ...manifest } = stored;
    // If the hash does not match, throw. A sweep deletes the chunks, because no manifest refers to them.
    if ((o.sha256 ?? stored.sha256) !== stored.sha256) throw damagedBodyError(`the body ${key}`, 'altered');
    await this.#commit(key, { ...manifest, at: o.at ?? this.#store.env.now(), expiresAt }, rest);
    return { size: stored.size, sha256: stored.sha256 };
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
    const hashes = Buffer.from(manifest.blocks, 'base64');
    const blocks = alignToBlocks({ start, end }, size);
    if (manifest.chunks === undefined) {
      if (rest.length !== size) throw damagedBodyError(`the body ${key}`, 'cut');
      if (!isIntact(rest.subarray(blocks.start, blocks.end), hashes, blocks.start, crc32))
        throw damagedBodyError(`the body ${key}`, 'altered');
      return { body: rest.subarray(start, end), size };
    }
    const source = streamFrom(this.#read(key, manifest, blocks));
    return { body: await checkedBody(source, { start, end }, { key, size, hashes, crc32 }), size };
  }

  async delete(key: string): Promise<void> {
    checkKey('a key', key);
    const { connection, env } = this.#store;
    const subject = this.#subject(key);
    const message = await connection.last(this.#stream, subject);
    if (message === null) return;
    await connection.purge(this.#stream, subject);
    const { chunks } = parse(message).manifest;
    if (chunks === undefined) return;
    // If there is no room for the note, a later sweep finds the chunks without a manifest and deletes them as
    // orphans.
    await this.#noteDue(chunks, env.now()).catch((error) => {
      if (!isRelayError(error, 'store_full')) throw error;
    });
  }

  async list(prefix: string, o: { after?: string; limit?: number } = {}): Promise<BlobPage> {
    checkPrefix('the prefix of a listing', prefix);
    const limit = checkLimit(o.limit);
    return this.#listing.page(prefix, { after: o.after, limit });
  }

  /** Counts live blobs and their bytes by reading every manifest. */
  async usage(): Promise<{ count: number; bytes: number }> {
    const sum = { count: 0, bytes: 0 };
    for await (const { size } of this.export('')) {
      sum.count++;
      sum.bytes += size;
    }
    return sum;
  }

  /**
   * Returns the manifests of the given keys, including expired manifests. Reads from a replica that has at least
   * sequence `last`, otherwise from the leader.
   */
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

  /**
   * Publishes the chunks while the bytes arrive. If everything fits into one chunk, publishes nothing and returns the
   * bytes in `rest`.
   */
  async #storeChunks(key: string, pieces: AsyncGenerator<Uint8Array>) {
    const hashes = new BodyHashes();
    const name = crypto.randomUUID().replaceAll('-', '');
    const chunks = chunksOf(pieces, hashes);
    const [first, second] = [await chunks.next(), await chunks.next()];
    const isChunked = !second.done;
    if (isChunked) {
      const all = async function* () {
        yield first.value!;
        yield second.value!;
        yield* chunks;
      };
      let sent = 0;
      try {
        await this.#recordIntent(key, name);
        await mapConcurrent(
          all(),
          async (chunk) => {
            await this.#store.connection.publish(`${this.#chunks(name)}.${sent++}`, chunk);
          },
          CONCURRENT_CHUNKS,
        );
      } catch (error) {
        await chunks.return(undefined);
        // If the purge fails, a sweep deletes the chunks.
        await this.removeChunks(name).catch(() => {});
        throw error;
      }
    }
    const { size, sha256, blocks }: HashedBody = hashes.digest();
    return {
      size,
      sha256,
      blocks: Buffer.from(blocks).toString('base64'),
      ...(isChunked ? { chunks: name } : {}),
      rest: isChunked || first.done ? new Uint8Array() : first.value,
    };
  }

  #chunks(name: string): string {
    return `${this.#store.name}.c.${name}`;
  }

  /** Records the key to which the chunks belong, so that a sweep can find chunks without a manifest. */
  async #recordIntent(key: string, name: string): Promise<void> {
    const intent = JSON.stringify({ key });
    await this.#store.connection.publish(`${this.#chunks(name)}.k`, Buffer.from(intent));
  }

  /** Deletes all chunks with this name. */
  async removeChunks(name: string): Promise<void> {
    await this.#store.connection.purge(this.#stream, `${this.#chunks(name)}.*`);
  }

  async #commit(key: string, manifest: Manifest, rest: Uint8Array): Promise<void> {
    const { connection, env } = this.#store;
    const named = subjectOf(key).includes('~') ? { ...manifest, key } : manifest;
    const payload = Buffer.concat([Buffer.from(`${JSON.stringify(named)}\n`), rest]);
    const ttl = ttlOf(manifest.expiresAt, env.now());
    if (manifest.chunks !== undefined && manifest.expiresAt !== undefined)
      await this.#noteDue(manifest.chunks, manifest.expiresAt);
    await connection.publish(this.#subject(key), payload, { ttl });
  }

  /**
   * Publishes a note that says when the chunks of a blob can be deleted. The time, as a multiple of
   * `DUE_STEP_MS`, is part of the subject.
   */
  async #noteDue(chunks: string, goneAt: number): Promise<void> {
    const { connection, env } = this.#store;
    const dueAt = goneAt + READER_MS;
    const ttl = Math.ceil(Math.max(dueAt - env.now(), 0) / 1000) + DUE_NOTE_SECONDS;
    const subject = `${this.#chunks('due')}.${Math.ceil(dueAt / DUE_STEP_MS)}.${chunks}`;
    await connection.publish(subject, Buffer.from('.'), { ttl, frees: true });
  }

  /** Reads the chunks that contain a range and yields only the bytes of the range. */
  async *#read(
    key: string,
    { size, chunks }: Manifest,
    { start, end }: ByteRange,
  ): AsyncGenerator<Uint8Array> {
    const { connection } = this.#store;
    for (let at = start; at < end; ) {
      const index = Math.floor(at / CHUNK_BYTES);
      const offset = index * CHUNK_BYTES;
      const subject = `${this.#chunks(chunks!)}.${index}`;
      // Chunks never change, so any replica's copy is right. A replica that lags may not have the chunk yet; then ask
      // the leader.
      const near = await connection.batch(this.#stream, { multi_last: [subject] });
      const chunk = (near?.messages[0] ?? (await connection.last(this.#stream, subject)))?.data;
      if (chunk?.length !== Math.min(CHUNK_BYTES, size - offset))
        throw damagedBodyError(`the body ${key}`, chunk ? 'cut' : 'missing');
      yield chunk.subarray(at - offset, end - offset);
      at = offset + chunk.length;
    }
  }
}

/** Regroups pieces into chunks of `CHUNK_BYTES`. Only the last chunk may be shorter. */
async function* chunksOf(pieces: AsyncIterable<Uint8Array>, hashes: BodyHashes): AsyncGenerator<Uint8Array> {
  let chunk = new Uint8Array(CHUNK_BYTES);
  let filled = 0;
  for await (const piece of pieces) {
    hashes.update(piece);
    for (let at = 0; at < piece.length; ) {
      if (filled === CHUNK_BYTES) {
        yield chunk;
        chunk = new Uint8Array(CHUNK_BYTES);
        filled = 0;
      }
      const part = piece.subarray(at, at + CHUNK_BYTES - filled);
      chunk.set(part, filled);
      filled += part.length;
      at += part.length;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}

function parse(message: Message): { manifest: Manifest; rest: Uint8Array } {
  const bytes = Buffer.from(message.data.buffer, message.data.byteOffset, message.data.byteLength);
  const end = bytes.indexOf(0x0a);
  return {
    manifest: JSON.parse(bytes.subarray(0, end).toString()) as Manifest,
    rest: new Uint8Array(bytes.subarray(end + 1)),
  };
}
