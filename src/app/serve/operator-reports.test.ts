import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { TraceExporter } from './operator-reports.ts';

test('flush sends all pending traces to the collector', async (t) => {
  let received = '';
  const collector = createServer(async (request, response) => {
    const body = await text(request);
    received = body;
    response.end('{}');
  }).listen(0, '127.0.0.1');
  t.after(() => collector.close());
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  const traces = new TraceExporter(`http://127.0.0.1:${port}`, () => assert.fail('it was not sent'));
  const request = { id: 'a-1', method: 'GET', operation: 'pointers.pull', status: 200, at: 0, ms: 1 };
  traces.add({ ...request, address: '127.0.0.1', caller: null, traceparent: null });
  await traces.flush();
  assert.match(received, /pointers\.pull/);
});
