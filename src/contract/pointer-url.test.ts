import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../base/errors.ts';
import { isLoopback, parsePointer, pointerUrl } from './pointer-url.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const KEY = 'cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=';

test('a pointer consists of base, /pull/ and the id, with the key after #key=', () => {
  assert.equal(pointerUrl('https://host', ID), `https://host/pull/${ID}`);
  assert.equal(pointerUrl('http://127.0.0.1:7474/', ID), `http://127.0.0.1:7474/pull/${ID}`);
  assert.equal(pointerUrl('https://host/relay//', ID, null), `https://host/relay/pull/${ID}`);
  assert.equal(pointerUrl('https://host', ID, KEY), `https://host/pull/${ID}#key=${KEY}`);
});

test('parsing a pointer URL returns its parts', () => {
  for (const base of [
    'https://host',
    'http://127.0.0.1:7474',
    'https://host/some/path',
    'http://[::1]:7474',
  ]) {
    assert.deepEqual(parsePointer(pointerUrl(base, ID, KEY)), { id: ID, base, key: KEY });
    assert.deepEqual(parsePointer(pointerUrl(base, ID)), { id: ID, base, key: null });
  }
});

test('a bare id is a pointer without a base', () => {
  assert.deepEqual(parsePointer(ID), { id: ID, base: null, key: null });
  assert.deepEqual(parsePointer(` ${ID.toUpperCase()}\n`), { id: ID, base: null, key: null });
});

test('white space, case, a query, a trailing slash and an escaped key are accepted', () => {
  const expected = { id: ID, base: 'https://host', key: KEY };
  assert.deepEqual(parsePointer(`  https://HOST/pull/${ID.toUpperCase()}/?raw=1#key=${KEY}\n`), expected);
  assert.deepEqual(parsePointer(`https://host/pull/${ID}#key=${KEY.replace('=', '%3D')}`), expected);
  assert.equal(
    parsePointer(`https://host/pull/${ID}#key=100%`).key,
    '100%',
    'a broken escape is left as it is',
  );
});

test('any other fragment is not a key, and credentials in a URL are dropped', () => {
  assert.equal(parsePointer(`https://host/pull/${ID}#top`).key, null);
  assert.equal(parsePointer(`https://me:secret@host/pull/${ID}`).base, 'https://host');
});

test('text that is not a pointer is rejected with the reason', () => {
  const cases: [text: string, what: RegExp][] = [
    ['', /neither a URL nor an id/],
    ['not a url', /neither a URL nor an id/],
    [`host/pull/${ID}`, /neither a URL nor an id/],
    [`file:///pull/${ID}`, /file:\/\/ is not http/],
    [`javascript:/pull/${ID}`, /is not http/],
    ['https://host/', /does not end in \/pull\/<uuid>/],
    [`https://host/${ID}`, /does not end in/],
    ['https://host/pull/', /does not end in/],
    ['https://host/pull/abc', /does not end in/],
    [`https://host/pull/${ID}/receipts`, /does not end in/],
    [`https://host/peek/${ID}`, /does not end in/],
  ];
  for (const [text, what] of cases) {
    assert.throws(
      () => parsePointer(text),
      (error) => isRelayError(error, 'bad_url') && what.test(error.message),
      text,
    );
  }
});

test('loopback addresses are distinguished from other addresses', () => {
  for (const host of ['127.0.0.1', '127.8.9.1', 'localhost', '::1', '[::1]', '::ffff:127.0.0.1'])
    assert.ok(isLoopback(host), host);
  for (const host of ['0.0.0.0', '::', '192.168.1.2', 'relay.example', '127.0.0.1.example']) {
    assert.ok(!isLoopback(host), host);
  }
});
