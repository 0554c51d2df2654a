import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type PushAnswer, pushJson, pushRaw, type RelayUnderTest, startRelay } from './relay-under-test.ts';

let relay: RelayUnderTest;
before(async () => {
  relay = await startRelay();
});
after(() => relay[Symbol.asyncDispose]());

test('the root answers as it always did', async () => {
  const response = await fetch(`${relay.url}/`);
  assert.equal(response.status, 200);
  assert.equal(await response.text(), 'ContextRelay API is running.');
});

test('a JSON push answers url, id and channel with 200', async () => {
  const { response, answer } = await pushJson(relay, { data: 'hello' });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(answer.url, `${relay.url}/pull/${answer.id}`);
  assert.match(answer.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(answer.channel, null);
  assert.equal(answer.size, 5);
  assert.deepEqual(Object.keys(answer).sort(), ['channel', 'expires_at', 'handle', 'id', 'size', 'url']);
});

test('a pull answers the envelope, byte for byte, as text/plain in UTF-8', async () => {
  const { answer } = await pushJson(relay, { data: 'say "hi"\n', metadata: { b: 1, a: [true, null] } });
  const response = await fetch(answer.url);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(await response.text(), '{"data":"say \\"hi\\"\\n","metadata":{"b":1,"a":[true,null]}}');
});

test('a raw body is stored unchanged, without metadata', async () => {
  const { answer } = await pushRaw(relay, 'plain words', '', { 'Content-Type': 'text/markdown' });
  assert.equal(await (await fetch(answer.url)).text(), '{"data":"plain words","metadata":{}}');
});

test('peek answers the metadata alone, and an empty object without any', async () => {
  const withMetadata = await pushJson(relay, { data: 'x', metadata: { summary: 'größer' } });
  const response = await fetch(`${relay.url}/peek/${withMetadata.answer.id}`);
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(await response.text(), '{"summary":"größer"}');
  const without = await pushJson(relay, { data: 'x' });
  assert.equal(await (await fetch(`${relay.url}/peek/${without.answer.id}`)).text(), '{}');
});

test('everything is there under /v1 too', async () => {
  const response = await fetch(`${relay.url}/v1/push`, { method: 'POST', body: 'v1' });
  const answer = (await response.json()) as PushAnswer;
  assert.equal(answer.url, `${relay.url}/pull/${answer.id}`);
  assert.equal(await (await fetch(`${relay.url}/v1/pull/${answer.id}?raw=1`)).text(), 'v1');
  assert.equal((await fetch(`${relay.url}/v1/peek/${answer.id}`)).status, 200);
});

test('a channel is echoed; null and the empty name mean none', async () => {
  assert.equal((await pushJson(relay, { data: 'x', channel: 'a/b.ü' })).answer.channel, 'a/b.ü');
  assert.equal((await pushJson(relay, { data: 'x', channel: null })).answer.channel, null);
  assert.equal((await pushJson(relay, { data: 'x', channel: '' })).answer.channel, null);
});

const TRICKY: [string, string][] = [
  ['an envelope inside', '{"data":"inner","metadata":{"x":1}}'],
  ['quotes and backslashes', '"\\"\\\\u0041\\n'],
  ['every control character', Array.from({ length: 32 }, (_, i) => String.fromCharCode(i)).join('')],
  ['scripts, emoji and joiners', 'ñ é 漢字 العربية हिन्दी 👩‍👩‍👧‍👦 🏳️‍🌈 \u2028\u2029 \ufeff mid'],
  ['a byte order mark in front', '\ufeffbom'],
  ['noncharacters', '\uffff\ufffe\u{10ffff}'],
  ['line ends of all kinds', 'a\r\nb\rc\n'],
];
for (const [name, data] of TRICKY) {
  test(`${name} comes back exactly`, async () => {
    const { answer } = await pushJson(relay, { data, metadata: { data } });
    const envelope = JSON.parse(await (await fetch(answer.url)).text());
    assert.deepEqual(envelope, { data, metadata: { data } });
    const raw = await pushRaw(relay, data);
    assert.equal(JSON.parse(await (await fetch(raw.answer.url)).text()).data, data);
    assert.deepEqual(
      Buffer.from(await (await fetch(`${raw.answer.url}?raw=1`)).arrayBuffer()),
      Buffer.from(data),
    );
  });
}

test('a large envelope full of escapes comes back exactly, however the network splits it', async () => {
  const data = 'ä\\"\n\t\u0000😀x'.repeat(150_000);
  const ascii = JSON.stringify({ metadata: { at: 'front' }, data, channel: 'behind', ttl: 90 }).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const bytes = Buffer.from(ascii);
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const step = 1 + ((at * 7919) % 50_021);
      controller.enqueue(bytes.subarray(at, at + step));
      at += step;
    },
  });
  const response = await fetch(`${relay.url}/push`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body,
    duplex: 'half',
  } as RequestInit);
  const answer = (await response.json()) as PushAnswer;
  assert.equal(response.status, 200, JSON.stringify(answer));
  assert.equal(answer.channel, 'behind');
  const envelope = JSON.parse(await (await fetch(answer.url)).text());
  assert.equal(envelope.data === data, true);
  assert.deepEqual(envelope.metadata, { at: 'front' });
});

test('25 MiB of data go in as JSON and come back exactly, and one byte more is 413', async () => {
  const data = 'é0123456789abcd\n'.repeat((25 * 1024 * 1024) / 17 + 1).slice(0, 25 * 1024 * 1024);
  const fit = Buffer.from(data)
    .subarray(0, 25 * 1024 * 1024 - 1)
    .toString('utf8')
    .replace(/\ufffd$/, '');
  const exact = fit + 'x'.repeat(25 * 1024 * 1024 - Buffer.byteLength(fit));
  assert.equal(Buffer.byteLength(exact), 26_214_400);
  const { response, answer } = await pushJson(relay, { data: exact });
  assert.equal(response.status, 200);
  assert.equal(answer.size, 26_214_400);
  const envelope = JSON.parse(await (await fetch(answer.url)).text());
  assert.equal(envelope.data === exact, true);
  const over = await pushJson(relay, { data: `${exact}x` });
  assert.equal(over.response.status, 413);
});

test('an encrypted payload may exceed the limit by the overhead of base64', async () => {
  const token = `gAAAAA${'b'.repeat(30 * 1024 * 1024)}`;
  assert.equal((await pushRaw(relay, token)).response.status, 200);
  assert.equal((await pushRaw(relay, `x${token}`)).response.status, 413);
});
