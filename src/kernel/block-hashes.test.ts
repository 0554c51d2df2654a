import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { BLOCK_BYTES, BlockHashes } from './block-hashes.ts';

const body = Buffer.from(Array.from({ length: 2 * BLOCK_BYTES + 100 }, (_, i) => i * 31));

test('the checksums do not depend on the pieces in which the body arrives', () => {
  const expected = Buffer.alloc(12);
  for (const i of [0, 1, 2]) {
    expected.writeUInt32BE(crc32(body.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES)), i * 4);
  }
  for (const length of [1000, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, body.length]) {
    for (const hashes of [new BlockHashes(), new BlockHashes(crc32)]) {
      for (let at = 0; at < body.length; at += length) hashes.update(body.subarray(at, at + length));
      assert.deepEqual(Buffer.from(hashes.digest()), expected, `in pieces of ${length}`);
    }
  }
});

test('a body that ends at a block boundary has no extra checksum, and an empty body has none', () => {
  assert.equal(new BlockHashes().update(body.subarray(0, 2 * BLOCK_BYTES)).digest().length, 8);
  assert.equal(new BlockHashes().digest().length, 0);
});
