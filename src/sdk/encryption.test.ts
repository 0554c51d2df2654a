import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WireRelay } from '../../test/sdk/wire-relay.ts';
import { systemEnv } from '../base/env.ts';
import { type ErrorCode, isRelayError } from '../base/errors.ts';
import { PAYLOAD_BYTES } from '../base/limits.ts';
import { fernetEncrypt, generateFernetKey } from '../formats/fernet.ts';
import { ContextRelay } from './context-relay.ts';

const refused = (code: ErrorCode) => (error: unknown) => isRelayError(error, code);

test('the relay receives ciphertext and never the key, and the URL decrypts the text', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('the launch code is naïve 😀', {
    encrypted: true,
    metadata: { topic: 'plain' },
  });
  const key = url.slice(url.indexOf('#key=') + 5);
  assert.match(key, /^[\w-]{43}=$/);
  assert.equal(await relay.pull(url), 'the launch code is naïve 😀');
  assert.deepEqual(await relay.peek(url), { topic: 'plain' });
  for (const seen of wire.seen) {
    const all = JSON.stringify([seen.path, [...seen.query], seen.headers]) + seen.body.toString('latin1');
    assert.ok(!all.includes('launch'));
    assert.ok(!all.includes(key.slice(0, 20)));
  }
});

test('the client cuts the part of an encrypted payload', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('alpha\nBETA\n{"a": 1}', { encrypted: true });
  assert.equal(await relay.pull(url, { lines: '2-' }), 'BETA\n{"a": 1}');
  assert.equal(await relay.pull(url, { grep: '(?=be)', ignore_case: true }), '2:BETA');
  assert.equal(await relay.pull(url, { grep: '\\{"a"' }), '3:{"a": 1}');
  assert.ok(wire.seen.every((seen) => !seen.query.has('grep') && !seen.query.has('lines')));
  await assert.rejects(relay.pull(url, { grep: '(' }), refused('bad_part'));
});

test('bytes, ranges and streams come back decrypted', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const bytes = new Uint8Array([0, 255, 7, 128, 3]);
  const url = await relay.push(new Blob([bytes]).stream(), { encrypted: true });
  assert.deepEqual(await relay.pullBytes(url), bytes);
  assert.deepEqual(await relay.pullBytes(url, { range: { start: 1, end: 3 } }), bytes.slice(1, 3));
  await assert.rejects(
    relay.pullBytes(url, { range: { start: 5, end: 9 } }),
    refused('range_not_satisfiable'),
  );
  assert.deepEqual(new Uint8Array(await new Response(await relay.pullStream(url)).arrayBuffer()), bytes);
  await assert.rejects(relay.pull(url), refused('not_text'));
});

test('a missing, a wrong and a damaged key have different errors', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('secret', { encrypted: true });
  const [bare] = url.split('#');
  await assert.rejects(relay.pull(bare!), refused('key_missing'));
  await assert.rejects(relay.pullBytes(bare!), refused('key_missing'));
  await assert.rejects(relay.pullStream(bare!), refused('key_missing'));
  for (const part of [{ lines: '1' }, { grep: 'gAAAAA' }, { outline: true }] as const) {
    await assert.rejects(relay.pull(bare!, part), refused('key_missing'), JSON.stringify(part));
  }
  await assert.rejects(relay.pull(`${bare}#key=${generateFernetKey(systemEnv)}`), refused('decrypt_failed'));
  await assert.rejects(relay.pull(url.slice(0, -4)), refused('bad_key'));
  await assert.rejects(
    relay.pull(`${await relay.push('plain')}#key=${generateFernetKey(systemEnv)}`),
    refused('decrypt_failed'),
  );
});

test('a pull with the right key after a wrong key is not counted again', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('secret', { encrypted: true, maxPulls: 1 });
  await assert.rejects(relay.pull(url.split('#')[0]!), refused('key_missing'));
  assert.equal(await relay.pull(url), 'secret');
  const pulls = wire.seen.filter(({ path }) => path.startsWith('/pull/'));
  assert.equal(pulls.length, 2);
  assert.equal(pulls[0]!.headers['idempotency-key'], pulls[1]!.headers['idempotency-key']);
});

test('an encrypted payload can be pulled from a server without peek', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url, retries: 0 });
  const url = await relay.push('secret', { encrypted: true });
  for (const [status, body] of [
    [404, 'nothing here'],
    [405, ''],
    [200, '<html>a page</html>'],
  ] as const) {
    wire.trouble = ({ path }, response) => {
      if (path.startsWith('/peek/')) response.writeHead(status).end(body);
      return path.startsWith('/peek/');
    };
    assert.equal(await relay.pull(url), 'secret', String(status));
  }
  wire.trouble = (_, response) => Boolean(response.writeHead(503).end());
  await assert.rejects(relay.pull(url), refused('busy'));
  assert.match(wire.seen.at(-1)!.path, /^\/peek\//);
});

test('a payload of an older client is decrypted, and looks like plain text without the key', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const key = generateFernetKey(systemEnv);
  const token = await fernetEncrypt(key, new TextEncoder().encode('from afar'), { now: systemEnv.now() });
  const url = await relay.push(token);
  assert.equal(await relay.pull(`${url}#key=${key}`), 'from afar');
  assert.equal(await relay.pull(`${url}#key=${encodeURIComponent(key)}`), 'from afar');
  assert.equal(await relay.pull(url), token);
  assert.equal(await relay.pull(url, { lines: '1' }), token);
});

test('only the client counts the tokens of an encrypted payload', async () => {
  await using wire = await WireRelay.start();
  const counter = {
    count: async (text: string) => ({ tokens: text.length, tokenizer: 'letters', estimated: false }),
  };
  const counting = new ContextRelay({ baseUrl: wire.url, counter });
  const pushed = await counting.pushDetailed('12345', { encrypted: true, count: true });
  assert.deepEqual(pushed.tokens, { tokens: 5, tokenizer: 'letters', estimated: false });
  assert.deepEqual(await counting.cost(pushed.url, { lines: '1' }), {
    tokens: 5,
    tokenizer: 'letters',
    estimated: false,
    bytes: 5,
  });
  const plain = new ContextRelay({ baseUrl: wire.url });
  assert.equal((await plain.pushDetailed('12345', { encrypted: true, count: true })).tokens, undefined);
  await assert.rejects(plain.cost(pushed.url), refused('bad_request'));
  assert.ok(wire.seen.every((seen) => !seen.query.has('count') && !seen.query.has('cost')));
});

test('the largest payload can be encrypted, pushed and pulled', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const payload = new Uint8Array(PAYLOAD_BYTES).fill(0x61);
  const back = await relay.pullBytes(await relay.push(payload, { encrypted: true }));
  assert.equal(Buffer.compare(back, payload), 0);
});
