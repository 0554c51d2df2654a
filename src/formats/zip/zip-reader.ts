import { isRelayError, RelayError } from '../../base/errors.ts';
import { crc32 } from '../../base/hash.ts';
import { BUNDLE_BYTES, BUNDLE_ENTRIES, BUNDLE_RATIO } from '../../base/limits.ts';

/** A source of bytes with random access: a file, a blob or memory. */
export interface ZipSource {
  readonly size: number;
  read(start: number, end: number): Promise<Uint8Array>;
}

interface ZipItem {
  readonly name: string;
  readonly size: number;
  readonly packedSize: number;
  readonly method: number;
  readonly crc: number;
  readonly offset: number;
  /** True if the sizes and the checksum are stored after the content. */
  readonly trailer: boolean;
}

/**
 * Opens an untrusted archive. Rejects links, folders, encryption, overlapping entries, bytes that the directory does
 * not list, and suspiciously high compression ratios. Reading an entry fails if it has more bytes than it declares.
 */
export async function openZip(source: ZipSource): Promise<ZipArchive> {
  if (source.size > BUNDLE_BYTES) throw bad(`it is larger than ${BUNDLE_BYTES} bytes`);
  const { count, start, end } = await findDirectory(source);
  const items = parseDirectory(await source.read(start, end), count);
  await checkPlaces(source, items, start);
  return new ZipArchive(source, items);
}

export class ZipArchive {
  readonly items: ReadonlyMap<string, ZipItem>;
  readonly #source: ZipSource;

  constructor(source: ZipSource, items: readonly ZipItem[]) {
    this.#source = source;
    this.items = new Map(items.map((item) => [item.name, item]));
  }

  /** Streams the content of an entry. Throws at the end if the checksum does not match. */
  async *stream(item: ZipItem): AsyncGenerator<Uint8Array> {
    let crc = 0;
    let size = 0;
    try {
      const packed = await this.#packed(item);
      const chunks = item.method === 0 ? packed : packed.pipeThrough(new DecompressionStream('deflate-raw'));
      for await (const chunk of chunks) {
        size += chunk.length;
        if (size > item.size) throw bad(`${quoteName(item.name)} unpacks to more than its declared size`);
        crc = crc32(chunk, crc);
        yield chunk;
      }
    } catch (error) {
      throw isRelayError(error) ? error : bad(`${quoteName(item.name)} cannot be unpacked`);
    }
    if (size !== item.size) throw bad(`${quoteName(item.name)} unpacks to less than its declared size`);
    if (crc !== item.crc) throw bad(`the checksum of ${quoteName(item.name)} is wrong`);
  }

  async bytes(item: ZipItem, limit: number): Promise<Uint8Array<ArrayBuffer>> {
    if (item.size > limit) throw bad(`${quoteName(item.name)} is larger than ${limit} bytes`);
    const all = new Uint8Array(item.size);
    let at = 0;
    for await (const chunk of this.stream(item)) {
      all.set(chunk, at);
      at += chunk.length;
    }
    return all;
  }

  async #packed(item: ZipItem): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const header = await this.#source.read(item.offset, item.offset + LOCAL);
    const view = viewOf(header);
    let at = item.offset + LOCAL + view.getUint16(26, true) + view.getUint16(28, true);
    const end = at + item.packedSize;
    return new ReadableStream({
      pull: async (controller) => {
        if (at >= end) return controller.close();
        const chunk = await this.#source.read(at, Math.min(at + CHUNK, end));
        at += CHUNK;
        controller.enqueue(new Uint8Array(chunk));
      },
    });
  }
}

const CHUNK = 256 * 1024;
const END_RECORD = 22;
const LOCAL = 30;
const CENTRAL = 46;
const TRAILER = 16;

async function findDirectory(source: ZipSource): Promise<{ count: number; start: number; end: number }> {
  const tailStart = Math.max(0, source.size - END_RECORD - 0xffff);
  const tail = await source.read(tailStart, source.size);
  const view = viewOf(tail);
  for (let at = tail.length - END_RECORD; at >= 0; at--) {
    if (view.getUint32(at, true) !== 0x06054b50) continue;
    if (at + END_RECORD + view.getUint16(at + 20, true) !== tail.length) continue;
    const count = view.getUint16(at + 10, true);
    const size = view.getUint32(at + 12, true);
    const start = view.getUint32(at + 16, true);
    const oneDisk = view.getUint32(at + 4, true) === 0 && view.getUint16(at + 8, true) === count;
    if (!oneDisk || count === 0xffff || start === 0xffffffff)
      throw bad('split archives and ZIP64 are not supported');
    if (start + size !== tailStart + at) throw bad('its directory is not at the declared position');
    if (count > BUNDLE_ENTRIES) throw bad(`it has more than ${BUNDLE_ENTRIES} entries`);
    return { count, start, end: start + size };
  }
  throw bad('it is not a ZIP archive');
}

function parseDirectory(bytes: Uint8Array, count: number): ZipItem[] {
  const view = viewOf(bytes);
  const items: ZipItem[] = [];
  const names = new Set<string>();
  let total = 0;
  let at = 0;
  while (at < bytes.length) {
    if (at + CENTRAL > bytes.length || view.getUint32(at, true) !== 0x02014b50)
      throw bad('its directory is broken');
    const length = view.getUint16(at + 28, true);
    const next = at + CENTRAL + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (next > bytes.length) throw bad('its directory is broken');
    const item = parseItem(view, at, nameOf(bytes.subarray(at + CENTRAL, at + CENTRAL + length)));
    if (names.has(item.name.toLowerCase())) throw bad(`${quoteName(item.name)} occurs twice`);
    names.add(item.name.toLowerCase());
    total += item.size;
    if (total > BUNDLE_BYTES) throw bad(`it unpacks to more than ${BUNDLE_BYTES} bytes`);
    items.push(item);
    at = next;
  }
  if (items.length !== count) throw bad('its directory is broken');
  return items;
}

function parseItem(view: DataView, at: number, name: string): ZipItem {
  const flags = view.getUint16(at + 8, true);
  const method = view.getUint16(at + 10, true);
  const packedSize = view.getUint32(at + 20, true);
  const size = view.getUint32(at + 24, true);
  const host = view.getUint8(at + 5);
  const mode = view.getUint32(at + 38, true) >>> 16;
  // Allowed flags: compression hints (bits 1 and 2), sizes after the content (bit 3) and UTF-8 names (bit 11).
  if ((flags & ~0x080e) !== 0) throw bad(`${quoteName(name)} is encrypted or has unsupported flags`);
  if (method !== 0 && method !== 8) throw bad(`${quoteName(name)} uses an unsupported compression method`);
  if (host === 3 && (mode & 0o170000) !== 0 && (mode & 0o170000) !== 0o100000)
    throw bad(`${quoteName(name)} is not a file`);
  if (size === 0xffffffff || packedSize === 0xffffffff) throw bad(`${quoteName(name)} is too large`);
  if (method === 0 && size !== packedSize) throw bad(`the sizes of ${quoteName(name)} do not match`);
  if (size > packedSize * BUNDLE_RATIO + 1024)
    throw bad(`${quoteName(name)} has a suspiciously high compression ratio`);
  const crc = view.getUint32(at + 16, true);
  const offset = view.getUint32(at + 42, true);
  return { name, size, packedSize, method, crc, offset, trailer: (flags & 8) !== 0 };
}

/**
 * Checks that the header of every entry matches the directory, and that each entry begins where the previous one
 * ends.
 */
async function checkPlaces(source: ZipSource, items: readonly ZipItem[], end: number): Promise<void> {
  let free = 0;
  let room = 0;
  for (const item of items.toSorted((a, b) => a.offset - b.offset)) {
    if (item.offset < free || item.offset > free + room || item.offset + LOCAL > end)
      throw bad(`${quoteName(item.name)} is not at the declared position`);
    const header = await source.read(item.offset, Math.min(item.offset + LOCAL + item.name.length, end));
    const view = viewOf(header);
    const length = view.getUint16(26, true);
    const name = length === item.name.length ? nameOf(header.subarray(LOCAL)) : '';
    if (
      view.getUint32(0, true) !== 0x04034b50 ||
      name !== item.name ||
      view.getUint16(8, true) !== item.method
    ) {
      throw bad(`${quoteName(item.name)} does not match the directory`);
    }
    free = item.offset + LOCAL + length + view.getUint16(28, true) + item.packedSize;
    room = item.trailer ? TRAILER : 0;
    if (free > end) throw bad(`${quoteName(item.name)} overlaps the directory`);
  }
  if (end > free + room) throw bad('it contains data that its directory does not list');
}

/**
 * Decodes the name of an entry. Each part has only letters, digits, underscores, dots and dashes, and does not begin
 * with a dot.
 */
function nameOf(bytes: Uint8Array): string {
  const name = new TextDecoder('latin1').decode(bytes);
  if (!/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(name) || name.length > 255)
    throw bad(`${quoteName(name)} is not a valid entry name`);
  return name;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function quoteName(name: string): string {
  return JSON.stringify(name.slice(0, 80));
}

function bad(what: string): RelayError {
  return new RelayError('bad_bundle', { what });
}
