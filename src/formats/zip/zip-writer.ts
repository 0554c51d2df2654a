import { crc32 } from '../../base/hash.ts';

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** An entry of an archive: small content in memory, or a stream whose size and checksum are known in advance. */
export type ZipEntry = { readonly name: string } & (
  | { readonly bytes: Uint8Array }
  | { readonly size: number; readonly crc: number; open(): Promise<Chunks> }
);

/**
 * Maximum compression ratio. Content that compresses better is stored uncompressed; otherwise a reader could take it
 * for a ZIP bomb.
 */
const RATIO = 50;

/**
 * Yields a ZIP archive in chunks, without holding streamed entries in memory. Equal entries always give equal bytes.
 */
export async function* writeZip(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for await (const entry of entries) {
    const name = new TextEncoder().encode(entry.name);
    const packed =
      'bytes' in entry ? await pack(entry.bytes) : { ...entry, method: 0, packedSize: entry.size };
    const local = localHeader(name, packed);
    yield local;
    let sent = 0;
    for await (const chunk of await packed.open()) {
      sent += chunk.length;
      yield new Uint8Array(chunk);
    }
    if (sent !== packed.packedSize)
      throw new Error(`${entry.name} has ${sent} bytes instead of ${packed.packedSize}`);
    directory.push(centralHeader(name, packed, offset));
    offset += local.length + sent;
    if (offset > 0xffffffff) throw new Error('the archive would be larger than 4 GiB');
  }
  yield* directory;
  const size = directory.reduce((sum, header) => sum + header.length, 0);
  yield endRecord(directory.length, size, offset);
}

interface Packed {
  readonly method: number;
  readonly crc: number;
  readonly size: number;
  readonly packedSize: number;
  open(): Promise<Chunks>;
}

async function pack(bytes: Uint8Array): Promise<Packed> {
  const deflated = await deflate(bytes);
  const size = bytes.length;
  const worthIt = deflated.length < size && size <= deflated.length * RATIO;
  const body = worthIt ? deflated : bytes;
  const method = worthIt ? 8 : 0;
  return { method, crc: crc32(bytes), size, packedSize: body.length, open: async () => [body] };
}

async function deflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([new Uint8Array(bytes)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Date of all entries: 1 January 1980. It is fixed, so that the bytes do not depend on the time of writing. */
const DATE = 0x21;
const UTF8_NAME = 0x0800;

function localHeader(name: Uint8Array, packed: Packed): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(30 + name.length));
  view.setUint32(0, 0x04034b50, true);
  return writeFields(view, 4, name, packed);
}

function centralHeader(name: Uint8Array, packed: Packed, offset: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(46 + name.length));
  view.setUint32(0, 0x02014b50, true);
  view.setUint16(4, (3 << 8) | 20, true);
  // File mode: a regular file that only its owner can read and write.
  view.setUint32(38, (0o100600 << 16) >>> 0, true);
  view.setUint32(42, offset, true);
  return writeFields(view, 6, name, packed);
}

/**
 * Writes the name and the fields that the local header and the directory header of an entry have in common. The
 * fields start at `at`; the name is at the end.
 */
function writeFields(view: DataView<ArrayBuffer>, at: number, name: Uint8Array, packed: Packed) {
  view.setUint16(at, 20, true);
  view.setUint16(at + 2, UTF8_NAME, true);
  view.setUint16(at + 4, packed.method, true);
  view.setUint16(at + 8, DATE, true);
  view.setUint32(at + 10, packed.crc, true);
  view.setUint32(at + 14, packed.packedSize, true);
  view.setUint32(at + 18, packed.size, true);
  view.setUint16(at + 22, name.length, true);
  const bytes = new Uint8Array(view.buffer);
  bytes.set(name, bytes.length - name.length);
  return bytes;
}

function endRecord(count: number, size: number, offset: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(22));
  view.setUint32(0, 0x06054b50, true);
  view.setUint16(8, count, true);
  view.setUint16(10, count, true);
  view.setUint32(12, size, true);
  view.setUint32(16, offset, true);
  return new Uint8Array(view.buffer);
}
