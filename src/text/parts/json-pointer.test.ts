import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import { PART_CHARS } from '../../base/limits.ts';
import { takeJson } from './json-pointer.ts';

const json = (text: string, pointer: string) => takeJson(new TextEncoder().encode(text), pointer);
const value = async (document: unknown, pointer: string) =>
  (await json(JSON.stringify(document), pointer)).text;

function refused(code: 'bad_part' | 'not_json', says: RegExp) {
  return (error: unknown) => isRelayError(error, code) && says.test(error.message);
}

test('JSON Pointers (RFC 6901) find their values', async () => {
  const document = { foo: ['bar', 'baz'], '': 0, 'a/b': 1, 'c%d': 2, 'm~n': 8, ' ': 7, 'k"l': 6 };
  assert.equal(await value(document, '/foo'), '[\n  "bar",\n  "baz"\n]');
  assert.equal(await value(document, '/foo/0'), 'bar');
  assert.equal(await value(document, '/'), '0');
  assert.equal(await value(document, '/a~1b'), '1');
  assert.equal(await value(document, '/c%d'), '2');
  assert.equal(await value(document, '/m~0n'), '8');
  assert.equal(await value(document, '/ '), '7');
  assert.equal(await value(document, '/k"l'), '6');
  assert.deepEqual(JSON.parse(await value(document, '')), document);
});

test('a string is returned as plain text, other values as JSON', async () => {
  assert.equal(await value({ s: 'two\nlines "quoted"' }, '/s'), 'two\nlines "quoted"');
  assert.equal(await value({ n: null }, '/n'), 'null');
  assert.equal(await value({ f: false }, '/f'), 'false');
  assert.equal((await json('{"a":{"b":[1,2]}}', '/a/b')).about, 'json /a/b, array of 2');
});

test('digits that a number cannot hold are returned unchanged', async () => {
  const text = '{"id": 12345678901234567890, "e": 1e400, "list": [0.12345678901234567890, 3]}';
  assert.equal((await json(text, '/id')).text, '12345678901234567890');
  assert.equal((await json(text, '/e')).text, '1e400');
  assert.equal((await json(text, '/list')).text, '[\n  0.12345678901234567890,\n  3\n]');
  await assert.rejects(
    json(text, '/id/rawJSON'),
    refused('bad_part', /\/id is a number and has no "rawJSON"/),
  );
});

test('a pointer to nothing names the segment that failed', async () => {
  const text = '{"users": [{"name": "Ada"}], "a/b": {}}';
  await assert.rejects(json(text, '/nobody'), refused('bad_part', /the document has no member "nobody"/));
  await assert.rejects(json(text, '/users/0/age'), refused('bad_part', /\/users\/0 has no member "age"/));
  await assert.rejects(
    json(text, '/users/7/name'),
    refused('bad_part', /"7" is not an index of \/users, an array of 1 item/),
  );
  await assert.rejects(json(text, '/users/-'), refused('bad_part', /"-" is not an index/));
  await assert.rejects(json(text, '/users/00'), refused('bad_part', /"00" is not an index/));
  await assert.rejects(
    json(text, '/users/0/name/first'),
    refused('bad_part', /name is a string and has no "first"/),
  );
  await assert.rejects(json(text, '/a~1b/c'), refused('bad_part', /\/a~1b has no member "c"/));
});

test('inherited properties are not part of the document', async () => {
  for (const name of ['toString', 'constructor', '__proto__', 'length']) {
    await assert.rejects(json('{"a":[]}', `/${name}`), refused('bad_part', /no member/));
  }
  assert.equal((await json('{"__proto__": {"x": 1}}', '/__proto__/x')).text, '1');
});

test('an error in JSON names the position and quotes nothing', async () => {
  await assert.rejects(json('{"a": 1,\n "secret" oops}', '/a'), (error) => {
    return isRelayError(error, 'not_json') && !/secret|oops/.test(error.message);
  });
  await assert.rejects(json('hello', ''), refused('not_json', /it does not begin like JSON/));
  await assert.rejects(json('{"a": [1, 2', ''), refused('not_json', /it ends too early/));
  await assert.rejects(json('', ''), refused('not_json', /it ends too early/));
});

test('a byte order mark at the beginning is accepted', async () => {
  assert.equal((await json('\ufeff{"a": 1}', '/a')).text, '1');
});

test('a value that is too large is cut and says so', async () => {
  const part = await json(JSON.stringify({ big: 'x'.repeat(PART_CHARS + 10) }), '/big');
  assert.equal(part.truncated, true);
  assert.equal(part.text.length, PART_CHARS + ' […]'.length);
  assert.match(part.about, /cut at 1048576 characters/);
});

test('JSON that is nested too deeply is rejected', async () => {
  const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`;
  assert.equal(JSON.parse((await json(nested(64), '')).text).length, 1);
  for (const deep of [nested(65), '['.repeat(1_000_000), '{"a":'.repeat(1_000_000)]) {
    await assert.rejects(json(deep, '/0'), refused('not_json', /nested too deeply, more than 64 levels/));
  }
});

test('a large value is shown as it was written', async () => {
  const part = await json(`{"list": [${'{},'.repeat(PART_CHARS)}{}]}`, '/list');
  assert.match(part.about, /array of 1048577; cut/);
  assert.ok(part.text.startsWith('[{},{},'));
});
