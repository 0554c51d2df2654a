import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inflateRawSync, crc32 as platformCrc32 } from 'node:zlib';
import { type Entry, forgeZip } from '../../../test/threads/hostile-zip.ts';
import { isRelayError } from '../../base/errors.ts';
import { crc32 } from '../../base/hash.ts';
import { openZip, type ZipSource } from './zip-reader.ts';
import { writeZip, type ZipEntry } from './zip-writer.ts';

const memory = (bytes: Uint8Array): ZipSource => ({
  size: bytes.length,
  read: async (start, end) => bytes.subarray(start, end),
});

async function written(...entries: ZipEntry[]): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const all = (async function* () {
    yield* entries;
  })();
  for await (const chunk of writeZip(all)) chunks.push(chunk);
  return new Uint8Array(Buffer.concat(chunks));
}

async function readAll(bytes: Uint8Array): Promise<{ [name: string]: string }> {
  const zip = await openZip(memory(bytes));
  const out: { [name: string]: string } = {};
  for (const item of zip.items.values()) out[item.name] = Buffer.from(await zip.bytes(item, 1e9)).toString();
  return out;
}

const refused = (bytes: Uint8Array, says: RegExp) =>
  assert.rejects(readAll(bytes), (error) => isRelayError(error, 'bad_bundle') && says.test(error.message));

describe('a ZIP archive', () => {
  it('has standard CRC-32 checksums', () => {
    for (const size of [0, 1, 7, 8, 9, 1000, 100_003]) {
      const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 3)) & 255);
      assert.equal(crc32(bytes), platformCrc32(bytes));
    }
  });

  it('returns the stored contents, and compresses where this saves space', async () => {
    const text = 'a line of text that is like other lines\n'.repeat(20);
    const large = new Uint8Array(300_000).map((_, i) => (i * i) & 255);
    const bytes = await written(
      { name: 'a.txt', bytes: Buffer.from(text) },
      { name: 'empty', bytes: new Uint8Array(0) },
      {
        name: 'folder/large.bin',
        size: large.length,
        crc: crc32(large),
        open: async () =>
          (async function* () {
            yield large.subarray(0, 100_000);
            yield large.subarray(100_000);
          })(),
      },
    );
    const zip = await openZip(memory(bytes));
    assert.deepEqual([...zip.items.keys()], ['a.txt', 'empty', 'folder/large.bin']);
    const item = zip.items.get('a.txt')!;
    assert.ok(item.method === 8 && item.packedSize < text.length);
    assert.equal(Buffer.from(await zip.bytes(item, 1e6)).toString(), text);
    assert.deepEqual(await zip.bytes(zip.items.get('folder/large.bin')!, 1e6), large);
    assert.equal(inflateRawSync(bytes.subarray(30 + 5, 30 + 5 + item.packedSize)).toString(), text);
  });

  it('has the same bytes for the same entries, and no suspicious compression ratio', async () => {
    const zeros = { name: 'zeros', bytes: new Uint8Array(5_000_000) };
    const bytes = await written(zeros);
    assert.deepEqual(await written(zeros), bytes);
    assert.equal((await readAll(bytes)).zeros!.length, 5_000_000);
  });

  it('can be written by another program', async () => {
    assert.deepEqual(
      await readAll(
        forgeZip([
          { name: 'a', content: 'x' },
          { name: 'b/c', content: 'y', store: true },
        ]),
      ),
      {
        a: 'x',
        'b/c': 'y',
      },
    );
  });

  it('is rejected if anything in it is inconsistent', async () => {
    const one: Entry = { name: 'a', content: 'hello hello hello' };
    const cases: [Uint8Array, RegExp][] = [
      [new Uint8Array(0), /not a ZIP/],
      [Buffer.from('not a zip at all, but longer than the record at the end of one'), /not a ZIP/],
      ...[
        '../evil',
        '/etc/passwd',
        'a/../../b',
        'C:\\x',
        'a\\b',
        '..',
        '.hidden/x',
        'a//b',
        'a/',
        '',
        'a\u0000b',
        'x'.repeat(300),
      ].map((name): [Uint8Array, RegExp] => [forgeZip([{ ...one, name }]), /not a valid entry name/]),
      [forgeZip([{ ...one, mode: 0o120777 }]), /is not a file/],
      [forgeZip([{ ...one, mode: 0o040755 }]), /is not a file/],
      [forgeZip([{ ...one, mode: 0o020600 }]), /is not a file/],
      [forgeZip([one, { ...one, content: 'other' }]), /occurs twice/],
      [forgeZip([one, { ...one, name: 'A' }]), /occurs twice/],
      [forgeZip([{ ...one, flags: 1 }]), /encrypted/],
      [forgeZip([{ ...one, method: 12 }]), /unsupported compression/],
      [forgeZip([{ ...one, localName: 'b' }]), /does not match/],
      [forgeZip([{ ...one, localName: 'bb' }]), /does not match/],
      [forgeZip([{ ...one, crc: 1 }]), /checksum/],
      [forgeZip([{ ...one, size: 5 }]), /more than its declared size/],
      [forgeZip([{ ...one, size: 500 }]), /less than its declared size/],
      [forgeZip([{ ...one, store: true, size: 5 }]), /sizes/],
      [forgeZip([{ name: 'bomb', content: new Uint8Array(10_000_000) }]), /suspiciously/],
      [
        forgeZip([{ name: 'liar', content: new Uint8Array(10_000_000), size: 100 }]),
        /more than its declared size/,
      ],
      [
        forgeZip([{ name: 'huge', content: 'x', size: 0xfffffffe, packedSize: 0xfffffff0 }]),
        /more than|overlaps the directory/,
      ],
      [
        forgeZip([one, { name: 'b', content: 'x', offset: 0 }]),
        /not at the declared position|does not match/,
      ],
      [forgeZip([{ name: 'a', content: 'x', packedSize: 4000 }]), /overlaps the directory/],
      [
        forgeZip([one], { prefix: Buffer.from('MZ something else in front') }),
        /not at the declared position/,
      ],
      [forgeZip([one], { suffix: Buffer.from('something behind') }), /not a ZIP/],
      [forgeZip([one], { count: 2 }), /broken/],
      [forgeZip([one]).slice(0, -30), /not a ZIP/],
    ];
    for (const [bytes, says] of cases) await refused(bytes, says);
  });

  it('is rejected if its content cannot be unpacked', async () => {
    const bytes = forgeZip([{ name: 'a', content: 'hello hello hello' }]);
    bytes[34] = 0xff;
    bytes[35] = 0xff;
    await refused(bytes, /unpacked|checksum|less|more/);
  });
});
