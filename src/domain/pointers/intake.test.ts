import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../base/errors.ts';
import { PAYLOAD_BYTES, STORED_BYTES } from '../../base/limits.ts';
import { takeIn } from './intake.ts';

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

test('a character cut in two by a chunk is still text', async () => {
  const [first, second] = [bytes('ä').slice(0, 1), bytes('ä').slice(1)];
  const intake = takeIn(stream(first, second));
  assert.equal(await drain(intake.body), 2);
  assert.equal(intake.isText(), true);
});

test('half a character at the end is not text', async () => {
  const intake = takeIn(stream(bytes('a'), bytes('ä').slice(0, 1)));
  await drain(intake.body);
  assert.equal(intake.isText(), false);
});

test('a token is told by its first letters, wherever the chunks are cut', async () => {
  const rest = new Uint8Array(PAYLOAD_BYTES).fill(98);
  const intake = takeIn(stream(bytes('gA'), bytes('AA'), bytes('AAx'), rest));
  assert.equal(await drain(intake.body), PAYLOAD_BYTES + 7);
  await assert.rejects(drain(takeIn(stream(bytes('gAAAA'), bytes('Bx'), rest)).body), (error) =>
    isRelayError(error, 'too_large'),
  );
});

test('nothing, in one piece or in none, is refused', async () => {
  assert.throws(
    () => takeIn(new Uint8Array(0)),
    (error) => isRelayError(error, 'empty_payload'),
  );
  await assert.rejects(drain(takeIn(stream()).body), (error) => isRelayError(error, 'empty_payload'));
});

test('a size declared above every limit is refused before a byte is read', () => {
  assert.throws(
    () => takeIn(stream(bytes('x')), STORED_BYTES + 1),
    (error) => isRelayError(error, 'too_large'),
  );
});

test('a source that breaks off is told as such', async () => {
  const broken = new ReadableStream<Uint8Array>({
    pull: () => Promise.reject(new Error('connection reset')),
  });
  await assert.rejects(drain(takeIn(broken).body), (error) => isRelayError(error, 'aborted'));
});
