import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endForSlowReader } from './event-response.ts';

test('a stream that ignores backpressure is ended and its source cancelled when the reader is too slow', async () => {
  let sent = 0;
  const left = Promise.withResolvers<void>();
  const source = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        sent += 100;
        controller.enqueue(new Uint8Array(100));
      },
      cancel: () => left.resolve(),
    },
    { highWaterMark: 0 },
  );
  const slow = endForSlowReader(source, 1_000).getReader();
  await left.promise;
  assert.ok(sent <= 1_200, `${sent} bytes were taken`);
  await assert.rejects(slow.read(), /too slowly/);
});

test('a reader that keeps up gets the whole stream, whatever its size', async () => {
  let left = 50;
  const source = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve));
      if (left-- === 0) controller.close();
      else controller.enqueue(new Uint8Array(100));
    },
  });
  let bytes = 0;
  for await (const chunk of endForSlowReader(source, 1_000)) bytes += chunk.length;
  assert.equal(bytes, 5_000);
});
