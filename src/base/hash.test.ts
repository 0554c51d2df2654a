import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import { hmacSha256, sha256Hex } from './hash.ts';
import { toHex } from './ids.ts';

test('sha256 of a text hashes its UTF-8 bytes', async () => {
  assert.equal(await sha256Hex(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  assert.equal(await sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  const text = 'Grüße 👋';
  assert.equal(await sha256Hex(text), await sha256Hex(new TextEncoder().encode(text)));
  assert.equal(await sha256Hex(text), createHash('sha256').update(text).digest('hex'));
});

test('sha256 of a view hashes only the view', async () => {
  const bytes = Uint8Array.from({ length: 100 }, (_, i) => i);
  assert.equal(await sha256Hex(bytes.subarray(10, 20)), await sha256Hex(bytes.slice(10, 20)));
});

test('sha256 is correct for inputs of one block, several blocks, and long inputs', async () => {
  const bytes = Uint8Array.from({ length: 2000 }, (_, i) => (i * 7919) % 251);
  for (let length = 0; length <= bytes.length; length++) {
    const data = bytes.slice(0, length);
    const expected = createHash('sha256').update(data).digest('hex');
    assert.equal(await sha256Hex(data), expected, `${length} bytes`);
  }
});

test('hmac matches RFC 4231 for keys shorter and longer than a block', async () => {
  assert.equal(
    toHex(await hmacSha256(new TextEncoder().encode('Jefe'), 'what do ya want for nothing?')),
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  );
  for (const length of [1, 63, 64, 65, 131, 1000]) {
    const key = new Uint8Array(length).fill(0xaa);
    const data = new Uint8Array(length).fill(0xdd);
    const expected = createHmac('sha256', key).update(data).digest('hex');
    assert.equal(toHex(await hmacSha256(key, data)), expected, `a key of ${length}`);
  }
});
