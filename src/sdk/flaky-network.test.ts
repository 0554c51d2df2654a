import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { describe, fail, WireRelay } from '../../test/sdk/wire-relay.ts';
import { type ErrorCode, isRelayError, type RelayError } from '../base/errors.ts';
import { ContextRelay } from './context-relay.ts';
import type { HttpOptions } from './http-client.ts';
import { httpRelay } from './http-relay.ts';

const refused = (code: ErrorCode) => (error: unknown) => isRelayError(error, code);

/** Returns a client that does not wait between retries, and the list of pauses (in ms) that it would make. */
function patient(wire: WireRelay, o: Partial<HttpOptions> = {}): { relay: ContextRelay; waits: number[] } {
  const waits: number[] = [];
  const sleep = async (ms: number) => {
    waits.push(ms);
  };
  const relay = httpRelay({ baseUrl: wire.url, sleep, ...o });
  return { relay: new ContextRelay({ relay, ownBases: [wire.url] }), waits };
}

const failing = (statuses: number[], headers: Record<string, string> = {}) =>
  ((_, response, n) => {
    const status = statuses[n];
    if (!status) return false;
    fail(response, status, status === 429 ? 'rate_limited' : 'busy', headers);
    return true;
  }) satisfies WireRelay['trouble'];

test('repeatable calls are retried with growing pauses', async () => {
  for (const status of [408, 425, 429, 502, 503, 504]) {
    await using wire = await WireRelay.start();
    const { relay, waits } = patient(wire);
    wire.trouble = failing([status, status]);
    const url = await relay.push('x');
    assert.equal(wire.seen.length, 3);
    assert.equal(waits.length, 2);
    assert.ok(waits[0]! >= 100 && waits[0]! < 300 && waits[1]! >= 200 && waits[1]! < 600, `${waits}`);
    assert.equal(wire.stored.size, 1);
    const [first, second, third] = wire.headers('idempotency-key');
    assert.ok(first);
    assert.deepEqual([second, third], [first, first]);
    assert.equal(await relay.pull(url), 'x');
  }
});

test("after the last retry, the relay's error is thrown", async () => {
  await using wire = await WireRelay.start();
  const { relay } = patient(wire, { retries: 2 });
  wire.trouble = failing([503, 503, 503, 503]);
  await assert.rejects(relay.push('x'), (error: RelayError) => {
    assert.deepEqual(error.toJSON(), { error: 'Refused with busy.', code: 'busy', hint: 'Mind busy.' });
    return true;
  });
  assert.equal(wire.seen.length, 3);
});

test('the client waits for Retry-After, or fails at once if it is too long', async () => {
  await using wire = await WireRelay.start();
  const { relay, waits } = patient(wire);
  wire.trouble = failing([429], { 'Retry-After': '7' });
  await relay.push('x');
  assert.deepEqual(waits, [7000]);
  wire.seen.length = 0;
  const date = new Date(1e12).toUTCString();
  wire.trouble = failing([503], { 'Retry-After': new Date(1e12 + 9000).toUTCString(), Date: date });
  await relay.push('x');
  assert.deepEqual(waits, [7000, 9000]);
  wire.seen.length = 0;
  wire.trouble = failing([429, 429], { 'Retry-After': '3600' });
  await assert.rejects(relay.push('x'), refused('rate_limited'));
  assert.equal(wire.seen.length, 1);
});

test('a rejected call is not retried', async () => {
  for (const [status, code] of [
    [400, 'bad_request'],
    [401, 'unauthorized'],
    [402, 'over_quota'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [409, 'idempotency_conflict'],
    [413, 'too_large'],
    [500, 'internal'],
  ] as const) {
    await using wire = await WireRelay.start();
    wire.trouble = (_, response) => {
      fail(response, status, code);
      return true;
    };
    await assert.rejects(patient(wire).relay.push('x'), refused(code));
    assert.equal(wire.seen.length, 1);
  }
});

test('for an unknown error code or no JSON, the status decides the error', async () => {
  await using wire = await WireRelay.start();
  const { relay } = patient(wire, { retries: 0 });
  const expected: Record<number, ErrorCode> = {
    404: 'not_found',
    413: 'too_large',
    418: 'bad_request',
    500: 'internal',
    502: 'unreachable',
    431: 'too_large',
  };
  for (const [status, code] of Object.entries(expected)) {
    wire.trouble = (_, response) => {
      response.writeHead(Number(status), { 'Content-Type': 'text/html' }).end('<h1>\u001b[31mno</h1>');
      return true;
    };
    await assert.rejects(relay.push('x'), (error: RelayError) => {
      assert.equal(error.code, code);
      assert.equal(error.message, `${wire.url} answered with HTTP status ${status}.`);
      return true;
    });
  }
  wire.trouble = (_, response) => {
    response.writeHead(403).end(JSON.stringify({ error: '\u001b[31mred\u0007', code: 'made_up' }));
    return true;
  };
  await assert.rejects(
    relay.push('x'),
    (error: RelayError) => error.code === 'forbidden' && error.message === ' [31mred ',
  );
});

test('a call is retried when the connection breaks before or during the response', async () => {
  await using wire = await WireRelay.start();
  const { relay } = patient(wire);
  wire.trouble = (_, response, n) => {
    if (n === 0) response.destroy();
    if (n === 1) {
      response.writeHead(200, { 'Content-Length': '500' });
      response.write('{"url":', () => response.destroy());
    }
    return n < 2;
  };
  const url = await relay.push('x');
  assert.equal(wire.seen.length, 3);
  assert.equal(await relay.pull(url), 'x');
});

test('a large pull resumes where it broke, and is not counted again', async () => {
  await using wire = await WireRelay.start();
  const { relay } = patient(wire);
  const payload = Buffer.alloc(3_000_000);
  for (let i = 0; i < payload.length; i++) payload[i] = (i * 31) % 253;
  const url = await relay.push(payload);
  const stored = wire.stored.values().next().value!;
  wire.trouble = (seen, response, n) => {
    if (n > 3) return false;
    const start = Number(/bytes=(\d+)/.exec(seen.headers.range ?? '')?.[1] ?? 0);
    const range = { 'Content-Range': `bytes ${start}-${payload.length - 1}/${payload.length}` };
    response.writeHead(start ? 206 : 200, {
      ...describe(stored),
      'Content-Length': payload.length - start,
      ...(start ? range : {}),
    });
    response.write(payload.subarray(start, start + 700_000), () => setTimeout(() => response.destroy(), 20));
    return true;
  };
  assert.equal(Buffer.compare(await relay.pullBytes(url), payload), 0);
  const pulls = wire.seen.slice(1);
  assert.equal(pulls.length, 4);
  assert.equal(new Set(pulls.map((seen) => seen.headers['idempotency-key'])).size, 1);
  assert.ok(pulls.slice(1).every((seen) => seen.headers['if-range'] === describe(stored).ETag));
});

test('a pull that breaks every time fails', async () => {
  await using wire = await WireRelay.start();
  const { relay } = patient(wire, { retries: 2 });
  const url = await relay.push(Buffer.alloc(500_000, 1));
  const stored = wire.stored.values().next().value!;
  wire.trouble = (_, response) => {
    response.writeHead(200, { ...describe(stored), 'Content-Length': '500000' });
    response.write('x', () => response.destroy());
    return true;
  };
  await assert.rejects(relay.pullBytes(url), refused('unreachable'));
});

test('a stream is never sent again', async () => {
  await using wire = await WireRelay.start();
  const { relay } = patient(wire);
  wire.trouble = failing([503]);
  await assert.rejects(relay.push(new Blob(['x']).stream()), refused('busy'));
  assert.equal(wire.seen.length, 1);
  assert.equal(wire.headers('idempotency-key')[0], undefined);
});

test('a failing stream is reported as such, not as an unreachable relay', async () => {
  await using wire = await WireRelay.start();
  const broken = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(10));
      controller.error(new Error('disk on fire'));
    },
  });
  await assert.rejects(patient(wire).relay.push(broken), (error: RelayError) => {
    return error.code === 'aborted' && (error.cause as Error).message === 'disk on fire';
  });
});

test('a delete whose response was lost succeeds', async () => {
  await using wire = await WireRelay.start();
  const { relay } = patient(wire);
  const url = await relay.push('x');
  wire.trouble = (_, response, n) => {
    if (n !== 1) return false;
    wire.stored.clear();
    response.destroy();
    return true;
  };
  await relay.delete(url);
  await assert.rejects(relay.delete(url), refused('not_found'));
});

test('an unreachable relay is reported with its address', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const relay = new ContextRelay({ baseUrl: `http://127.0.0.1:${port}/some/path/`, retries: 0 });
  await assert.rejects(relay.push('x'), (error: RelayError) => {
    return (
      error.code === 'unreachable' &&
      error.message.includes(`http://127.0.0.1:${port}/some/path does not answer`)
    );
  });
});

test('a server that is not a relay is reported and not retried', async () => {
  await using wire = await WireRelay.start();
  const { relay, waits } = patient(wire);
  const url = await relay.push('x');
  wire.trouble = (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Welcome</h1>');
    return true;
  };
  const isNotARelay = (error: RelayError) =>
    error.code === 'unreachable' && /is not a relay/.test(error.message);
  await assert.rejects(relay.push('y'), isNotARelay);
  await assert.rejects(relay.pull(url), isNotARelay);
  await assert.rejects(relay.pull(url, { lines: '1' }), isNotARelay);
  await assert.rejects(relay.peek(url), isNotARelay);
  await assert.rejects(relay.cost(url), isNotARelay);
  assert.deepEqual(waits, []);
});
