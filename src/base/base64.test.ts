import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeByAtob, encodeByBtoa, fromBase64, fromBase64Url, toBase64, toBase64Url } from './base64.ts';

function sample(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 167 + 91) % 256);
}

test('the examples of RFC 4648 hold', () => {
  const examples = {
    '': '',
    f: 'Zg==',
    fo: 'Zm8=',
    foo: 'Zm9v',
    foob: 'Zm9vYg==',
    fooba: 'Zm9vYmE=',
    foobar: 'Zm9vYmFy',
  };
  for (const [text, encoded] of Object.entries(examples)) {
    const bytes = new TextEncoder().encode(text);
    assert.equal(toBase64(bytes), encoded);
    assert.equal(toBase64Url(bytes), encoded.replaceAll('=', ''));
    assert.equal(toBase64Url(bytes, { padding: true }), encoded);
    assert.deepEqual(fromBase64(encoded), bytes);
    assert.deepEqual(fromBase64Url(encoded.replaceAll('=', '')), bytes);
  }
});

test('the two alphabets do not mix', () => {
  const bytes = new Uint8Array([0xfb, 0xff, 0xbf]);
  assert.equal(toBase64(bytes), '+/+/');
  assert.equal(toBase64Url(bytes), '-_-_');
  assert.equal(fromBase64('-_-_'), null);
  assert.equal(fromBase64Url('+/+/'), null);
});

test('platforms without native base64 get the same results with btoa and atob', () => {
  for (const length of [0, 1, 2, 3, 4, 5, 255, 24 * 1024 - 1, 24 * 1024, 24 * 1024 + 1, 100_000]) {
    const bytes = sample(length);
    const text = encodeByBtoa(bytes, 'base64url');
    assert.equal(text, Buffer.from(bytes).toString('base64').replaceAll('+', '-').replaceAll('/', '_'));
    assert.deepEqual(decodeByAtob(text, 'base64url'), bytes);
  }
});

test('text that is not exactly base64 is rejected, natively and with atob', () => {
  const wrong = [
    'A',
    'AAAAA',
    'A===',
    '====',
    'Zg=',
    'Zm8==',
    'Zh==',
    'Zm9=',
    'Z g=',
    'Zg==\n',
    'Zm9v\nZm9v',
    'Zm=v',
    'Zm9é',
    'Zm9\u0141',
  ];
  for (const text of wrong) {
    assert.equal(fromBase64Url(text), null, JSON.stringify(text));
    if (text.length % 4 === 0) assert.equal(decodeByAtob(text, 'base64url'), null, JSON.stringify(text));
  }
});
