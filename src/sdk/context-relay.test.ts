import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WireRelay } from '../../test/sdk/wire-relay.ts';
import { type ErrorCode, isRelayError, type RelayError } from '../base/errors.ts';
import { PAYLOAD_BYTES } from '../base/limits.ts';
import { ContextRelay } from './context-relay.ts';
import type { PushData } from './options.ts';

const refused = (code: ErrorCode) => (error: unknown) => isRelayError(error, code);

function streamOf(...chunks: (Uint8Array | string)[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as Uint8Array);
      controller.close();
    },
  });
}

test('text in any script comes back unchanged', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  for (const text of [
    'plain',
    'naïve 東京 😀',
    '\ufeffmarked\r\n',
    '{"data":"x","metadata":{}}',
    '\0',
    'null',
  ]) {
    assert.equal(await relay.pull(await relay.push(text)), text);
  }
});

test('bytes, buffers, views, blobs and streams can be pushed', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const bytes = new Uint8Array([0, 255, 1, 254]);
  const wide = new Uint8Array([9, ...bytes, 9]);
  const forms: PushData[] = [
    bytes,
    bytes.buffer.slice(0),
    wide.subarray(1, 5),
    new DataView(wide.buffer, 1, 4),
    new Blob([bytes]),
    streamOf(bytes.subarray(0, 1), bytes.subarray(1)),
  ];
  for (const data of forms) {
    const url = await relay.push(data);
    assert.deepEqual(await relay.pullBytes(url), bytes);
    assert.deepEqual(new Uint8Array(await new Response(await relay.pullStream(url)).arrayBuffer()), bytes);
  }
});

test('every option reaches the relay', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url, apiKey: 'cr_live_test' });
  const pushed = await relay.pushDetailed('x', {
    channel: 'team/größe #1',
    metadata: { name: 'Zoë', nested: { list: [1, null, true] } },
    ttl: 90,
    maxPulls: 3,
    visibility: 'tenant',
    idempotencyKey: 'once',
    contentType: 'text/markdown; charset=utf-8',
    count: true,
  });
  assert.deepEqual(pushed, {
    url: `${wire.url}/pull/${pushed.id}`,
    id: pushed.id,
    channel: 'team/größe #1',
    expires_at: '2030-01-01T00:00:00.000Z',
    size: 1,
    tokens: { tokens: 7, tokenizer: 'o200k_base', estimated: false },
  });
  const [seen] = wire.seen;
  assert.deepEqual(Object.fromEntries(seen!.query), {
    channel: 'team/größe #1',
    ttl: '90',
    max_pulls: '3',
    visibility: 'tenant',
    count: '1',
  });
  assert.equal(seen!.headers['idempotency-key'], 'once');
  assert.equal(seen!.headers['content-type'], 'application/octet-stream');
  assert.equal(seen!.headers.authorization, 'Bearer cr_live_test');
  assert.deepEqual(await relay.peek(pushed.url), { name: 'Zoë', nested: { list: [1, null, true] } });
});

test('a peek returns everything except the payload', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('héllo', { channel: 'größe', metadata: { a: 1 } });
  const { sha256, id, ...rest } = await relay.inspect(url);
  assert.match(sha256 ?? '', /^[0-9a-f]{64}$/);
  assert.ok(url.endsWith(id));
  assert.deepEqual(rest, {
    metadata: { a: 1 },
    size: 6,
    text: true,
    content_type: 'text/plain; charset=utf-8',
    channel: 'größe',
    created_at: '2029-12-31T00:00:00.000Z',
    expires_at: '2030-01-01T00:00:00.000Z',
    max_pulls: null,
    visibility: 'link',
    from: 'Zoë',
    tokens: { tokens: 12, tokenizer: 'o200k_base', estimated: true },
  });
});

test('the relay cuts the part and sends only the part', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('one\ntwo ähm\nthree');
  assert.equal(await relay.pull(url, { lines: '2' }), 'two ähm');
  assert.deepEqual(await relay.pullPart(url, { grep: 'T', context: 1, ignore_case: true }), {
    text: '1-one\n2:two ähm\n3:three',
    about: '2 matches in 3 lines',
    truncated: false,
  });
  assert.deepEqual(await relay.cost(url, { lines: '1' }), {
    tokens: 3,
    tokenizer: 'o200k_base',
    estimated: true,
    bytes: 3,
  });
  assert.equal((await relay.cost(url)).bytes, 18);
});

test('a byte range is requested with a Range header', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('0123456789');
  assert.equal(new TextDecoder().decode(await relay.pullBytes(url, { range: { start: 3, end: 6 } })), '345');
  assert.equal(wire.seen.at(-1)!.headers.range, 'bytes=3-5');
  assert.equal((await relay.pullBytes(url, { range: { start: 8, end: 99 } })).length, 2);
  await assert.rejects(
    relay.pullBytes(url, { range: { start: 10, end: 12 } }),
    refused('range_not_satisfiable'),
  );
  await assert.rejects(relay.pullBytes(url, { range: { start: 3, end: 3 } }), refused('bad_request'));
});

test('a deleted pointer cannot be pulled', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('x');
  await relay.delete(url);
  await assert.rejects(relay.pull(url), refused('not_found'));
});

test('pulling bytes as text names pullBytes, and the second call is not counted as another pull', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push(new Uint8Array([0xff, 0xfe]));
  await assert.rejects(
    relay.pull(url),
    (error) => isRelayError(error, 'not_text') && /pullBytes/.test(error.hint),
  );
  assert.equal((await relay.pullBytes(url)).length, 2);
  await relay.pullBytes(url);
  const [, first, second, third] = wire.headers('idempotency-key');
  assert.equal(first, second);
  assert.notEqual(second, third);
});

test('empty, malformed, oversized and invalid payloads are rejected before anything is sent', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  for (const encrypted of [false, true]) {
    await assert.rejects(relay.push('', { encrypted }), refused('empty_payload'));
    await assert.rejects(relay.push(new Uint8Array(), { encrypted }), refused('empty_payload'));
    await assert.rejects(relay.push('a\ud83d', { encrypted }), refused('bad_request'));
    await assert.rejects(relay.push(new Uint8Array(PAYLOAD_BYTES + 1), { encrypted }), refused('too_large'));
    await assert.rejects(relay.push({ a: 1 } as unknown as string, { encrypted }), refused('bad_request'));
    await assert.rejects(relay.push('x', { encrypted, metadata: [] as never }), refused('bad_request'));
    await assert.rejects(
      relay.push('x', { encrypted, metadata: { n: 1n } as never }),
      refused('bad_request'),
    );
    await assert.rejects(relay.push('x', { encrypted, idempotencyKey: 'ö' }), refused('bad_request'));
  }
  assert.equal(wire.seen.length, 0);
});

test('an empty stream is rejected by the relay, a stream of text or of too many bytes by the client', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  await assert.rejects(relay.push(streamOf()), refused('empty_payload'));
  await assert.rejects(relay.push(streamOf('text')), refused('bad_request'));
  const mebibyte = new Uint8Array(1024 * 1024);
  let chunks = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      chunks++;
      controller.enqueue(mebibyte);
    },
  });
  await assert.rejects(relay.push(endless), refused('too_large'));
  assert.ok(chunks < 40);
});

test('an invalid pointer is rejected with the reason', async () => {
  const relay = new ContextRelay({ baseUrl: 'http://127.0.0.1:1' });
  for (const url of ['', 'hello', 'ftp://host/pull/7b0c1c5e-58f1-4d0e-9d4c-2f6f8c3d9a11', 'https://host']) {
    await assert.rejects(relay.pull(url), refused('bad_url'));
  }
});

test('metadata that is too large for a header is sent in the JSON body', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const metadata = { note: 'ß'.repeat(7000) };
  const url = await relay.push('naïve', { metadata, channel: 'c', ttl: 5, count: true });
  assert.deepEqual(await relay.peek(url), metadata);
  assert.equal(wire.seen[0]!.headers['relay-metadata'], undefined);
  assert.equal(wire.stored.values().next().value!.body.toString(), 'naïve');
});

test('a string is the address of the relay, and unknown options are refused', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay(wire.url);
  assert.equal(await relay.pull(await relay.push('x')), 'x');
  const unknown = (code: string) => (error: RelayError) =>
    error.code === 'bad_request' && `${error.message} ${error.hint}`.includes(code);
  assert.throws(() => new ContextRelay({ baseURL: wire.url } as object), unknown('Use "baseUrl"'));
  await assert.rejects(relay.push('x', { max_pulls: 1 } as object), unknown('Use "maxPulls"'));
  await assert.rejects(relay.push('x', { colour: 1 } as object), unknown('channel, encrypted'));
});

test('onRequest tells each request, also one that is retried', async () => {
  await using wire = await WireRelay.start();
  const seen: string[] = [];
  const relay = new ContextRelay({
    baseUrl: wire.url,
    onRequest: ({ operation, method, path, attempt, status, error }) =>
      seen.push(`${operation} ${method} ${path} ${attempt} ${status ?? (error as RelayError).code}`),
  });
  wire.trouble = (_, response, n) => {
    if (n === 0) response.destroy();
    return n === 0;
  };
  await relay.push('x');
  assert.deepEqual(seen, ['push POST /push 0 unreachable', 'push POST /push 1 200']);
});
