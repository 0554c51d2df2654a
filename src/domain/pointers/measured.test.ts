import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measured } from './measured.ts';

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

test('a stream that was read to its end is told once, with all its bytes', async () => {
  const told: number[] = [];
  const bytes = await new Response(measured(pieces(5), (n) => told.push(n))).arrayBuffer();
  assert.equal(bytes.byteLength, 50);
  assert.deepEqual(told, [50]);
});

test('a reader that went away is told with what it had read by then', async () => {
  const told: number[] = [];
  const reader = measured(pieces(5), (n) => told.push(n)).getReader();
  await reader.read();
  await reader.read();
  await reader.cancel();
  assert.deepEqual(told, [20]);
});

test('nobody is told of a stream that nobody read', async () => {
  const told: number[] = [];
  await measured(pieces(5), (n) => told.push(n)).cancel();
  assert.deepEqual(told, []);
});

test('a stream that breaks passes the error on, and what was read before counts', async () => {
  const told: number[] = [];
  await assert.rejects(new Response(measured(pieces(3, 'fail'), (n) => told.push(n))).arrayBuffer());
  assert.deepEqual(told, [30]);
});
