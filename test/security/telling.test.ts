import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startMetering, TraceExporter } from '../../src/app/serve/operator-reports.ts';
import type { AnsweredRequest, LogEvent } from '../../src/interfaces/http/deps.ts';
import type { Wire } from '../http/relay-under-test.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { until } from '../until.ts';

interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly bodies: Wire[];
  /** Resolves when this many requests have arrived. */
  count(n: number): Promise<void>;
}

async function receiver(
  answer: (request: IncomingMessage, response: ServerResponse, n: number) => void,
): Promise<Receiver> {
  const bodies: Wire[] = [];
  let onRequest = () => {};
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    bodies.push(text === '' ? null : JSON.parse(text));
    answer(request, response, bodies.length);
    onRequest();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    async count(n) {
      while (bodies.length < n) {
        await new Promise<void>((resolve) => {
          onRequest = resolve;
        });
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('every request is reported with operation, status, key and id, never with its path', async () => {
  const observed: AnsweredRequest[] = [];
  await using relay = await startGuarded({ server: { observe: (each) => observed.push(each) } });
  const key = await relay.key();
  const pushed = await relay.ask('POST', '/push', { key, body: 'x' });
  await relay.ask('GET', `/v1/pull/${pushed.json.id}?raw=1`, { key });
  await relay.ask('GET', `/pull/${pushed.json.id}`);
  await relay.ask('GET', '/nowhere/secret');
  assert.deepEqual(
    observed.map(({ method, operation, status, caller }) => [method, operation, status, caller?.keyId]),
    [
      ['POST', 'pointers.push', 200, key.id],
      ['GET', 'pointers.pull', 200, key.id],
      ['GET', 'pointers.pull', 404, 'anonymous'],
      ['GET', 'other', 404, undefined],
    ],
  );
  assert.equal(new Set(observed.map(({ id }) => id)).size, 4);
  assert.equal(pushed.headers.get('relay-request-id'), observed[0]!.id);
  assert.ok(!JSON.stringify(observed).includes(pushed.json.id));
  assert.ok(!JSON.stringify(observed).includes('secret'));
});

test('an unexpected error is logged with the request id that the client gets', async () => {
  await using relay = await startGuarded();
  relay.engine.records.list = () => Promise.reject(new Error('the disk is on fire'));
  const { status, json } = await relay.ask('GET', '/ready');
  assert.deepEqual([status, json.code], [500, 'internal']);
  const [event] = relay.log;
  assert.match(String(event!.error), /on fire/);
  assert.ok(!JSON.stringify(json).includes('fire'));
  assert.ok(json.hint.includes(String(event!.request)));
});

test('traces go to the configured collector, with the parent of the request', async () => {
  await using collector = await receiver((_, response) => response.end('{}'));
  const log: LogEvent[] = [];
  const exporter = new TraceExporter(collector.url, (event) => log.push(event));
  await using relay = await startGuarded({ server: { observe: (request) => exporter.add(request) } });
  const key = await relay.key();
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  await relay.ask('POST', '/push', { key, body: 'x', headers: { traceparent } });
  await relay.ask('GET', '/nowhere', { headers: { traceparent: 'rubbish' } });
  exporter.flush();
  await collector.count(1);
  const [push, nowhere] = collector.bodies[0].resourceSpans[0].scopeSpans[0].spans;
  assert.deepEqual(
    [push.name, push.traceId, push.parentSpanId, push.kind],
    ['pointers.push', 'a'.repeat(32), 'b'.repeat(16), 2],
  );
  assert.match(nowhere.traceId, /^[0-9a-f]{32}$/);
  assert.equal(nowhere.parentSpanId, undefined);
  assert.ok(BigInt(push.endTimeUnixNano) >= BigInt(push.startTimeUnixNano));
  assert.ok(!JSON.stringify(collector.bodies).includes(key.key));
  assert.deepEqual(log, []);
});

test('a collector that does not answer is logged once, and requests are not affected', async () => {
  const log: LogEvent[] = [];
  const exporter = new TraceExporter('http://127.0.0.1:9', (event) => log.push(event));
  await using relay = await startGuarded({ server: { observe: (request) => exporter.add(request) } });
  for (let i = 0; i < 3; i++) {
    assert.equal((await relay.ask('GET', '/health')).status, 200);
    exporter.flush();
  }
  await until(() => log.length !== 0);
  assert.deepEqual(
    log.map(({ event }) => event),
    ['traces-not-sent'],
  );
});

test('usage is exported to a file and a webhook, and sent again if it did not arrive', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-metering-'));
  const meteringFile = join(folder, 'usage.jsonl');
  await using webhook = await receiver((_, response, n) => response.writeHead(n === 1 ? 503 : 200).end());
  const log: LogEvent[] = [];
  await using relay = await startGuarded();
  const stop = startMetering(
    relay.core,
    { metering_file: meteringFile, metering_webhook: webhook.url },
    (e) => log.push(e),
  );
  const key = await relay.key();
  await relay.ask('POST', '/push', { key, body: 'four' });
  await relay.core.usage.statistics.flush();
  await webhook.count(2);
  await relay.ask('POST', '/push', { key, body: 'seven..' });
  await relay.core.usage.statistics.flush();
  await webhook.count(3);
  await stop();
  const lines = readFileSync(meteringFile, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ tenant, key: id, operation, count, bytes }) => [tenant, id, operation, count, bytes]),
    [
      ['acme', key.id, 'push', 1, 4],
      ['acme', key.id, 'push', 1, 7],
    ],
  );
  assert.notEqual(lines[0].id, lines[1].id);
  assert.deepEqual(webhook.bodies[0], { usage: [lines[0]] });
  assert.deepEqual(webhook.bodies[1], webhook.bodies[0]);
  assert.deepEqual(webhook.bodies[2], { usage: [lines[1]] });
  rmSync(folder, { recursive: true });
});

test('redirects of a webhook are not followed', async () => {
  await using inner = await receiver((_, response) => response.end());
  await using outer = await receiver((_, response) => response.writeHead(307, { Location: inner.url }).end());
  const log: LogEvent[] = [];
  await using relay = await startGuarded();
  const stop = startMetering(relay.core, { metering_file: null, metering_webhook: outer.url }, (e) =>
    log.push(e),
  );
  await relay.ask('POST', '/push', { key: await relay.key(), body: 'x' });
  await relay.core.usage.statistics.flush();
  await outer.count(1);
  await stop();
  assert.equal(inner.bodies.length, 0);
  assert.ok(log.some(({ event }) => event === 'metering-not-sent'));
});
