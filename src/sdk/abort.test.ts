import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { describe, WireRelay } from '../../test/sdk/wire-relay.ts';
import { until } from '../../test/until.ts';
import { type ErrorCode, isRelayError, type RelayError } from '../base/errors.ts';
import { ContextRelay } from './context-relay.ts';

const refused = (code: ErrorCode) => (error: unknown) => isRelayError(error, code);

test('a signal aborts every running call, and the error has its reason', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push('x');
  wire.trouble = () => true;
  const calls = [
    (signal: AbortSignal) => relay.push('y', { signal }),
    (signal: AbortSignal) => relay.push(new Blob(['y']).stream(), { signal }),
    (signal: AbortSignal) => relay.pull(url, undefined, { signal }),
    (signal: AbortSignal) => relay.pull(url, { lines: '1' }, { signal }),
    (signal: AbortSignal) => relay.pullBytes(url, { signal }),
    (signal: AbortSignal) => relay.peek(url, { signal }),
    (signal: AbortSignal) => relay.cost(url, undefined, { signal }),
    (signal: AbortSignal) => relay.delete(url, { signal }),
    (signal: AbortSignal) => relay.threads.create({ name: 'x', signal }),
    (signal: AbortSignal) => relay.threads.open('x').patch([], { signal }),
    (signal: AbortSignal) => relay.threads.open('x').artifacts.put('x', { signal }),
    (signal: AbortSignal) => relay.files.space('x').put('x', 'y', { signal }),
    (signal: AbortSignal) => relay.files.space('x').text('x', undefined, { signal }),
    (signal: AbortSignal) => relay.files.space('x').list({ prefix: 'x', signal }),
    (signal: AbortSignal) => relay.tasks.get('x', { signal }),
    (signal: AbortSignal) => relay.tasks.list({}, { signal }),
    (signal: AbortSignal) => relay.inbox.read('x', {}, { signal }),
    (signal: AbortSignal) => relay.channels.list({}, { signal }),
  ];
  for (const call of calls) {
    const controller = new AbortController();
    const before = wire.seen.length;
    const under = call(controller.signal);
    await until(() => wire.seen.length !== before);
    controller.abort('enough');
    await assert.rejects(under, (error: RelayError) => error.code === 'aborted' && error.cause === 'enough');
  }
});

test('with an aborted signal, nothing is sent', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  await assert.rejects(relay.push('x', { signal: AbortSignal.abort() }), refused('aborted'));
  assert.equal(wire.seen.length, 0);
});

test('a signal ends the pause before a retry', async () => {
  await using wire = await WireRelay.start();
  const controller = new AbortController();
  wire.trouble = (_, response) => {
    response.writeHead(503, { 'Retry-After': '20' }).end(() => controller.abort());
    return true;
  };
  await assert.rejects(
    new ContextRelay({ baseUrl: wire.url }).push('x', { signal: controller.signal }),
    refused('aborted'),
  );
  assert.equal(wire.seen.length, 1);
});

test('a signal aborts a stream that is being read', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push(Buffer.alloc(1_000_000, 7));
  const stored = wire.stored.values().next().value!;
  wire.trouble = (_, response) => {
    response.writeHead(200, { ...describe(stored), 'Content-Length': '1000000' });
    response.write(Buffer.alloc(1000, 7));
    return true;
  };
  const controller = new AbortController();
  const reader = (await relay.pullStream(url, { signal: controller.signal })).getReader();
  assert.equal((await reader.read()).value![0], 7);
  controller.abort();
  await assert.rejects(reader.read(), refused('aborted'));
});

test('a reader that stops early closes the connection', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url });
  const url = await relay.push(Buffer.alloc(1_000_000, 7));
  const stored = wire.stored.values().next().value!;
  let closed: Promise<unknown> = Promise.resolve();
  wire.trouble = (_, response) => {
    closed = new Promise((resolve) => response.once('close', resolve));
    response.writeHead(200, { ...describe(stored), 'Content-Length': '1000000' });
    response.write(Buffer.alloc(1000, 7));
    return true;
  };
  const stream = await relay.pullStream(url);
  const reader = stream.getReader();
  await reader.read();
  await reader.cancel();
  await closed;
});

test('a response that does not start, or stalls, runs into the timeout', async () => {
  await using wire = await WireRelay.start();
  const url = await new ContextRelay({ baseUrl: wire.url }).push(Buffer.alloc(1_000_000, 7));
  const stored = wire.stored.values().next().value!;
  const relay = new ContextRelay({ baseUrl: wire.url, timeout: 30, retries: 0 });
  wire.trouble = () => true;
  await assert.rejects(relay.peek(url), refused('timeout'));
  wire.trouble = (_, response) => {
    response.writeHead(200, { ...describe(stored), 'Content-Length': '1000000' });
    response.write(Buffer.alloc(1000, 7));
    return true;
  };
  await assert.rejects(relay.pullBytes(url), refused('timeout'));
});

test('an aborted call is an AbortError, as from fetch', async () => {
  await using wire = await WireRelay.start();
  const error = await new ContextRelay(wire.url).push('x', { signal: AbortSignal.abort() }).catch((e) => e);
  assert.ok(error instanceof Error);
  assert.equal(error.name, 'AbortError');
});

test('the timeout is for the whole call: it ends retries and pauses', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url, timeout: 2_500 });
  wire.trouble = (_, response, n) => {
    if (n === 0) response.destroy();
    return true;
  };
  await assert.rejects(relay.push('x'), refused('timeout'));
  assert.equal(wire.seen.length, 2, 'a broken connection is retried, a call that hangs is not');
  wire.seen.length = 0;
  wire.trouble = (_, response) => {
    response.writeHead(503, { 'Retry-After': '30' }).end();
    return true;
  };
  await assert.rejects(relay.push('x'), refused('busy'));
  assert.equal(wire.seen.length, 1, 'the pause would end after the deadline');
});

test('an answer that trickles ends at the deadline, a large body may take longer', async () => {
  await using wire = await WireRelay.start();
  const relay = new ContextRelay({ baseUrl: wire.url, timeout: 1_500, retries: 0 });
  const large = Buffer.alloc(2_000_000, 7);
  const url = await relay.push(large);
  const stored = wire.stored.values().next().value!;
  const trickle = (response: ServerResponse, chunk: Buffer | string) => {
    const timer = setInterval(() => response.write(chunk), 100);
    response.once('close', () => clearInterval(timer));
    return true;
  };
  wire.trouble = (_, response) => trickle(response.writeHead(200, { 'Content-Length': '5000' }), ' ');
  await assert.rejects(relay.peek(url), refused('timeout'));
  wire.trouble = (_, response) => {
    const size = String(large.byteLength);
    return trickle(
      response.writeHead(200, { ...describe(stored), 'Content-Length': size }),
      large.subarray(0, 100_000),
    );
  };
  assert.equal((await relay.pullBytes(url)).byteLength, large.byteLength);
});
