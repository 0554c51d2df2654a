import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RelayError } from '../base/errors.ts';
import { LargeResults } from '../integrations/large-results.ts';
import { memoryRelay } from './testing.ts';

test('a relay in memory is a whole relay: pointers, parts, channels, threads, files', async () => {
  await using relay = memoryRelay();
  const url = await relay.push('one\ntwo', { metadata: { a: 1 }, encrypted: true });
  assert.equal(await relay.pull(url, { lines: '2' }), 'two');
  assert.deepEqual(await relay.peek(url), { a: 1 });
  const heard = relay.subscribe('reviews.*');
  await heard.ready;
  await relay.publish('reviews.a', 'hi');
  for await (const { msg } of heard) {
    assert.equal(msg, 'hi');
    break;
  }
  const thread = await relay.threads.create();
  await thread.artifacts.put('text', { name: 'a.md' });
  assert.equal((await thread.artifacts.list()).artifacts.length, 1);
  await relay.files.space('notes').put('plan.md', '# Plan');
  assert.equal(await relay.files.space('notes').text('plan.md'), '# Plan');
  const large = await new LargeResults(relay).replaceText('a line\n'.repeat(5000), 'search');
  assert.match(large, /^Too large to show: the result of search, .*tokens/);
});

test('the clock of a relay in memory can be moved, and its errors are RelayErrors', async () => {
  await using relay = memoryRelay();
  await using other = memoryRelay();
  const url = await relay.push('x', { ttl: 60 });
  await assert.rejects(other.pull(url), RelayError);
  assert.equal(await relay.pull(url), 'x');
  relay.advance(61_000);
  await assert.rejects(
    relay.pull(url),
    (error: unknown) => error instanceof RelayError && error.code === 'not_found',
  );
});
