import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { crc32 as zlibCrc32 } from 'node:zlib';
import { BodyHashes, crc32, sha256 } from './body-hashes.ts';

test('a CRC is the same with and without node:zlib, also piece by piece', () => {
  const bytes = Uint8Array.from({ length: 10_000 }, (_, at) => (at * 31) % 251);
  for (const length of [0, 1, 77, 4096, 4097, 10_000])
    assert.equal(crc32(bytes.subarray(0, length)), zlibCrc32(bytes.subarray(0, length)), String(length));
  const first = crc32(bytes.subarray(0, 4000));
  assert.equal(crc32(bytes.subarray(4000), first), zlibCrc32(bytes));
  assert.equal(crc32(bytes.subarray(9000), crc32(bytes.subarray(0, 9000))), zlibCrc32(bytes));
});

test('a SHA-256 is the same at once and piece by piece', () => {
  const expected = createHash('sha256').update('payload').digest('hex');
  assert.equal(sha256('payload'), expected);
  const [start, end] = ['pay', 'load'].map((text) => new TextEncoder().encode(text));
  assert.equal(new BodyHashes().update(start!).update(end!).digest().sha256, expected);
});
