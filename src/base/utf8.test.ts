import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from './errors.ts';
import { decodeUtf8, encodeUtf8, isUtf8, Utf8Check } from './utf8.ts';

test('any well-formed text survives encoding and decoding, including a byte order mark', () => {
  for (const text of ['', 'plain', 'naïve 東京 😀 \u0000 \ufeff', '\ufeffmarked', '\uffff\u{10ffff}']) {
    assert.equal(decodeUtf8(encodeUtf8(text)), text);
  }
});

test('half of a surrogate pair is refused rather than replaced', () => {
  for (const text of ['\ud83d', 'a\udc00b', '\udc00\ud83d']) {
    assert.throws(
      () => encodeUtf8(text),
      (error) => isRelayError(error, 'bad_request'),
    );
  }
});

const broken = {
  'a lone continuation': [0x80],
  'an overlong slash': [0xc0, 0xaf],
  'an encoded surrogate': [0xed, 0xa0, 0x80],
  'beyond Unicode': [0xf4, 0x90, 0x80, 0x80],
  'a character that breaks off': [0x61, 0xe6, 0x9d],
};

test('bytes that are not UTF-8 decode to null', () => {
  for (const [name, bytes] of Object.entries(broken))
    assert.equal(decodeUtf8(new Uint8Array(bytes)), null, name);
});

test('checking in chunks gives the same result as checking at once, wherever the text is cut', () => {
  const whole = [
    ...Object.values(broken).map((b) => new Uint8Array(b)),
    new TextEncoder().encode('naïve 東京 😀'),
  ];
  for (const bytes of whole) {
    for (let size = 1; size <= bytes.length; size++) {
      const check = new Utf8Check();
      for (let i = 0; i < bytes.length; i += size) check.push(bytes.subarray(i, i + size));
      assert.equal(check.end(), decodeUtf8(bytes) !== null);
    }
  }
});

test('characters across the borders of the checked pieces are valid', () => {
  const long = new TextEncoder().encode(`x${'é'.repeat(40_000)}`);
  assert.equal(isUtf8(long), true);
  assert.equal(isUtf8(long.subarray(0, -1)), false);
  assert.equal(isUtf8(new Uint8Array([...long, 0xff, ...long])), false);
  assert.equal(isUtf8(new Uint8Array()), true);
});
