import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countRead } from '../base/byte-streams.ts';
import { isRelayError } from '../base/errors.ts';
import { PAYLOAD_BYTES, STORED_BYTES } from '../base/limits.ts';
import { meterBody } from './bodies.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

function stream(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function drain(body: Uint8Array | ReadableStream<Uint8Array>): Promise<number> {
  if (body instanceof Uint8Array) return body.byteLength;
  let size = 0;
  for await (const chunk of body) size += chunk.byteLength;
  return size;
}

test('a character that is split between two chunks is still text', async () => {
  const [first, second] = [bytes('ä').slice(0, 1), bytes('ä').slice(1)];
  const metered = meterBody(stream(first, second));
  assert.equal(await drain(metered.body), 2);
  assert.equal(metered.isText(), true);
});

test('an incomplete character at the end is not text', async () => {
  const metered = meterBody(stream(bytes('a'), bytes('ä').slice(0, 1)));
  await drain(metered.body);
  assert.equal(metered.isText(), false);
});

test('an encrypted payload is recognized by its first letters, wherever the chunks are split', async () => {
  const rest = new Uint8Array(PAYLOAD_BYTES).fill(98);
  const metered = meterBody(stream(bytes('gA'), bytes('AA'), bytes('AAx'), rest));
  assert.equal(await drain(metered.body), PAYLOAD_BYTES + 7);
  await assert.rejects(drain(meterBody(stream(bytes('gAAAA'), bytes('Bx'), rest)).body), (error) =>
    isRelayError(error, 'too_large'),
  );
});

test('an empty payload is rejected, as bytes or as a stream', async () => {
  assert.throws(
    () => meterBody(new Uint8Array(0)),
    (error) => isRelayError(error, 'empty_payload'),
  );
  await assert.rejects(drain(meterBody(stream()).body), (error) => isRelayError(error, 'empty_payload'));
});

test('a declared size above every limit is rejected before a byte is read', () => {
  assert.throws(
    () => meterBody(stream(bytes('x')), STORED_BYTES + 1),
    (error) => isRelayError(error, 'too_large'),
  );
});

test('an interrupted source is reported as such', async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull: () => Promise.reject(new Error('connection reset')),
  });
  await assert.rejects(drain(meterBody(broken).body), (error) => isRelayError(error, 'aborted'));
});

function pieces(count: number, then: 'end' | 'fail' = 'end'): ReadableStream<Uint8Array> {
  let left = count;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(10));
      else if (then === 'end') controller.close();
      else controller.error(new Error('the disk went'));
    },
  });
}

test('a stream that was read to its end is reported once, with all its bytes', async () => {
  const counts: number[] = [];
  const bytes = await new Response(countRead(pieces(5), (n) => counts.push(n))).arrayBuffer();
  assert.equal(bytes.byteLength, 50);
  assert.deepEqual(counts, [50]);
});

test('a reader that stopped early is reported with the bytes that it had read', async () => {
  const counts: number[] = [];
  const reader = countRead(pieces(5), (n) => counts.push(n)).getReader();
  await reader.read();
  await reader.read();
  await reader.cancel();
  assert.deepEqual(counts, [20]);
});

test('a stream that was not read is not reported', async () => {
  const counts: number[] = [];
  await countRead(pieces(5), (n) => counts.push(n)).cancel();
  assert.deepEqual(counts, []);
});

test('a stream that fails passes the error on, and the bytes read before count', async () => {
  const counts: number[] = [];
  await assert.rejects(new Response(countRead(pieces(3, 'fail'), (n) => counts.push(n))).arrayBuffer());
  assert.deepEqual(counts, [30]);
});
