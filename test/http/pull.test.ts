import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Failure, pushJson, pushRaw, type RelayUnderTest, startRelay } from './relay-under-test.ts';

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

const raw = { headers: { Accept: 'application/octet-stream' } };
const BINARY = Uint8Array.from({ length: 100_001 }, (_, i) => (i * 31) % 256);

test('bytes that are not text come back raw, and as base64 in the envelope', async () => {
  const { answer } = await pushRaw(relay, BINARY);
  const response = await fetch(answer.url, raw);
  assert.equal(response.headers.get('content-type'), 'application/octet-stream');
  assert.equal(response.headers.get('content-disposition'), 'attachment');
  assert.deepEqual(new Uint8Array(await response.arrayBuffer()), BINARY);
  const envelope = JSON.parse(await (await fetch(answer.url)).text());
  assert.equal(envelope.encoding, 'base64');
  assert.deepEqual(new Uint8Array(Buffer.from(envelope.data, 'base64')), BINARY);
});

test('a raw pull has the fields of the pointer as headers', async () => {
  const { answer } = await pushJson(relay, {
    data: 'four',
    metadata: { k: 'ü' },
    channel: 'c/ü',
    max_pulls: 3,
  });
  const { headers } = await fetch(answer.url, raw);
  const sha = createHash('sha256').update('four').digest('hex');
  assert.equal(headers.get('etag'), `"${sha}"`);
  assert.equal(headers.get('accept-ranges'), 'bytes');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('relay-size'), '4');
  assert.equal(headers.get('relay-expires-at'), answer.expires_at);
  assert.equal(headers.get('relay-channel'), 'c%2F%C3%BC');
  assert.equal(headers.get('relay-max-pulls'), '3');
  assert.deepEqual(JSON.parse(Buffer.from(headers.get('relay-metadata')!, 'base64url').toString()), {
    k: 'ü',
  });
});

test('a payload is never served as something a browser would run', async () => {
  const { answer } = await pushRaw(relay, '<script>alert(1)</script>', '', { 'Content-Type': 'text/html' });
  for (const url of [answer.url, `${answer.url}?raw=1`]) {
    const { headers } = await fetch(url);
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  }
});

const RANGES: [string, number, string][] = [
  ['bytes=0-3', 206, '0123'],
  ['bytes=5-', 206, '56789'],
  ['bytes=-2', 206, '89'],
  ['bytes=-99', 206, '0123456789'],
  ['bytes=8-99', 206, '89'],
  ['bytes=0-1,4-5', 200, '0123456789'],
  ['lines=1-2', 200, '0123456789'],
  ['bytes=5-2', 200, '0123456789'],
];
for (const [range, status, body] of RANGES) {
  test(`Range ${range} answers ${status}`, async () => {
    const { answer } = await pushRaw(relay, '0123456789');
    const response = await fetch(`${answer.url}?raw=1`, { headers: { Range: range } });
    assert.equal(response.status, status);
    assert.equal(await response.text(), body);
    if (status === 206) assert.match(response.headers.get('content-range')!, /^bytes \d+-\d+\/10$/);
  });
}

test('a range outside the payload answers 416 with the size', async () => {
  const { answer } = await pushRaw(relay, '0123456789');
  const response = await fetch(`${answer.url}?raw=1`, { headers: { Range: 'bytes=10-' } });
  assert.equal(response.status, 416);
  assert.equal(response.headers.get('content-range'), 'bytes */10');
});

test('If-None-Match answers 304, and If-Range with another ETag returns the whole payload', async () => {
  const { answer } = await pushRaw(relay, '0123456789');
  const etag = (await fetch(`${answer.url}?raw=1`)).headers.get('etag')!;
  const response = await fetch(`${answer.url}?raw=1`, { headers: { 'If-None-Match': `"x", W/${etag}` } });
  assert.equal(response.status, 304);
  const changed = await fetch(`${answer.url}?raw=1`, {
    headers: { 'If-Range': '"other"', Range: 'bytes=0-1' },
  });
  assert.equal(changed.status, 200);
  const same = await fetch(`${answer.url}?raw=1`, { headers: { 'If-Range': etag, Range: 'bytes=0-1' } });
  assert.equal(same.status, 206);
});

test('HEAD returns all headers without the payload', async () => {
  const { answer } = await pushJson(relay, { data: 'hello', max_pulls: 1 });
  for (let i = 0; i < 3; i++) {
    const response = await fetch(answer.url, { method: 'HEAD' });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-length'), '5');
    assert.equal(await response.text(), '');
  }
});

test('a pointer vanishes at its expiry, after 24 hours by default', async () => {
  const short = (await pushJson(relay, { data: 'x', ttl: 1 })).answer;
  const usual = (await pushJson(relay, { data: 'x' })).answer;
  const lasts = Date.parse(usual.expires_at) - Date.parse(short.expires_at);
  assert.ok(Math.abs(lasts - (24 * 3600 - 1) * 1000) < 60_000);
  relay.advance(1_001);
  assert.equal((await fetch(short.url)).status, 404);
  assert.equal((await fetch(`${relay.url}/peek/${short.id}`)).status, 404);
  assert.equal((await fetch(usual.url)).status, 200);
});

test('the space of a payload can be freed as soon as it has expired', async () => {
  await using alone = await startRelay();
  await pushJson(alone, { data: 'small', ttl: 1 });
  await pushJson(alone, { data: 'large'.repeat(500_000), ttl: 1 });
  await pushRaw(alone, 'r'.repeat(2_000_000), '?ttl=1');
  alone.advance(1_001);
  await alone.engine.sweep();
  assert.equal((await alone.engine.usage()).blobs.count, 0);
});

test('revoked, missing, malformed and expired are the same 404', async () => {
  const { answer } = await pushJson(relay, { data: 'x' });
  assert.equal((await fetch(answer.url, { method: 'DELETE' })).status, 204);
  const bodies = new Set<string>();
  for (const id of [
    answer.id,
    crypto.randomUUID(),
    'nonsense',
    '..%2f..%2fetc%2fpasswd',
    '%00',
    '__proto__',
  ]) {
    for (const path of ['pull', 'peek']) {
      const response = await fetch(`${relay.url}/${path}/${id}`);
      assert.equal(response.status, 404, `${path}/${id}`);
      bodies.add(await response.text());
    }
  }
  assert.equal(bodies.size, 1);
  assert.equal((await fetch(answer.url, { method: 'DELETE' })).status, 404);
});

test('an id is found whatever its case', async () => {
  const { answer } = await pushJson(relay, { data: 'x' });
  assert.equal((await fetch(`${relay.url}/pull/${answer.id.toUpperCase()}`)).status, 200);
});

test('max_pulls counts pulls and parts, and nothing else', async () => {
  const { answer } = await pushJson(relay, { data: 'one\ntwo\n', max_pulls: 2 });
  await fetch(answer.url, { method: 'HEAD' });
  await fetch(`${relay.url}/peek/${answer.id}`);
  assert.equal((await fetch(`${answer.url}?cost=1`)).status, 200);
  assert.equal(await (await fetch(`${answer.url}?lines=2`)).text(), 'two');
  assert.equal((await fetch(answer.url)).status, 200);
  const response = await fetch(answer.url);
  assert.equal(response.status, 404);
  assert.equal(((await response.json()) as Failure).code, 'not_found');
});

test('of many pulls at once exactly max_pulls succeed', async () => {
  const { answer } = await pushJson(relay, { data: 'x', max_pulls: 5 });
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async () => (await fetch(answer.url)).status),
  );
  assert.equal(statuses.filter((status) => status === 200).length, 5);
});

test('a pull repeated with its Idempotency-Key is free for five minutes', async () => {
  const { answer } = await pushJson(relay, { data: 'x', max_pulls: 2 });
  const again = { headers: { 'Idempotency-Key': 'k1' } };
  assert.equal((await fetch(answer.url, again)).status, 200);
  assert.equal((await fetch(answer.url, again)).status, 200);
  relay.advance(5 * 60_000 + 1);
  assert.equal((await fetch(answer.url, again)).status, 200);
  assert.equal((await fetch(answer.url)).status, 404);
});
