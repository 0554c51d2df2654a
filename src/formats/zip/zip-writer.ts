import { crc32 } from './crc32.ts';

/** What goes into an archive: small content whole, large content with its size and checksum known ahead. */
export type ZipEntry = { readonly name: string } & (
  | { readonly bytes: Uint8Array }
  | { readonly size: number; readonly crc: number; open(): Promise<AsyncIterable<Uint8Array>> }
);

/** Beyond this ratio content is stored as it is: an honest archive never looks like a bomb. */
const RATIO = 50;

/** Writes a ZIP archive as it goes: no entry larger than what was given whole is ever held. Same entries, same bytes. */
export async function* writeZip(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const directory: Uint8Array[] = [];
  let offset = 0;
  for await (const entry of entries) {
    const name = new TextEncoder().encode(entry.name);
    const packed =
      'bytes' in entry
        ? await pack(entry.bytes)
        : { method: 0, size: entry.size, crc: entry.crc, body: null };
    const packedSize = packed.body ? packed.body.length : packed.size;
    const fields: Fields = {
      name,
      method: packed.method,
      crc: packed.crc,
      packedSize,
      size: packed.size,
      offset,
    };
    const local = localHeader(fields);
    yield local;
    if (packed.body) yield new Uint8Array(packed.body);
    else if (!('bytes' in entry)) {
      let sent = 0;
      for await (const chunk of await entry.open()) {
        sent += chunk.length;
        yield new Uint8Array(chunk);
      }
      if (sent !== entry.size) throw new Error(`${entry.name} has ${sent} bytes instead of ${entry.size}`);
    }
    directory.push(centralHeader(fields));
    offset += local.length + packedSize;
    if (offset > 0xffffffff) throw new Error('the archive would be larger than 4 GiB');
  }
  let size = 0;
  for (const header of directory) {
    size += header.length;
    yield new Uint8Array(header);
  }
  yield endRecord(directory.length, size, offset);
}

interface Fields {
  readonly name: Uint8Array;
  readonly method: number;
  readonly crc: number;
  readonly packedSize: number;
  readonly size: number;
  readonly offset: number;
}

async function pack(
  bytes: Uint8Array,
): Promise<{ method: number; size: number; crc: number; body: Uint8Array }> {
  const crc = crc32(bytes);
  const size = bytes.length;
  const deflated = await deflate(bytes);
  const worthIt = deflated.length < size && size <= deflated.length * RATIO;
  return worthIt ? { method: 8, size, crc, body: deflated } : { method: 0, size, crc, body: bytes };
}

async function deflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([new Uint8Array(bytes)]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** 1 January 1980, so that the time of writing is not part of the bytes. */
const DATE = 0x21;
const UTF8_NAME = 0x0800;

function localHeader({ name, method, crc, packedSize, size }: Fields): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(30 + name.length));
  view.setUint32(0, 0x04034b50, true);
  view.setUint16(4, 20, true);
  view.setUint16(6, UTF8_NAME, true);
  view.setUint16(8, method, true);
  view.setUint16(12, DATE, true);
  view.setUint32(14, crc, true);
  view.setUint32(18, packedSize, true);
  view.setUint32(22, size, true);
  view.setUint16(26, name.length, true);
  const bytes = new Uint8Array(view.buffer);
  bytes.set(name, 30);
  return bytes;
}

function centralHeader({ name, method, crc, packedSize, size, offset }: Fields): Uint8Array {
  const view = new DataView(new ArrayBuffer(46 + name.length));
  view.setUint32(0, 0x02014b50, true);
  view.setUint16(4, (3 << 8) | 20, true);
  view.setUint16(6, 20, true);
  view.setUint16(8, UTF8_NAME, true);
  view.setUint16(10, method, true);
  view.setUint16(14, DATE, true);
  view.setUint32(16, crc, true);
  view.setUint32(20, packedSize, true);
  view.setUint32(24, size, true);
  view.setUint16(28, name.length, true);
  // A regular file that its owner reads and writes.
  view.setUint32(38, (0o100600 << 16) >>> 0, true);
  view.setUint32(42, offset, true);
  const bytes = new Uint8Array(view.buffer);
  bytes.set(name, 46);
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
