import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { listenerOf, processorMs } from './processes.ts';

const skip = process.platform !== 'linux' && 'it is read from /proc';

test('a process is found by its port, and the URL of another machine finds none', {
  skip,
}, async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  assert.equal(listenerOf(`http://127.0.0.1:${port}`), process.pid);
  assert.equal(listenerOf(`http://relay.example:${port}`), undefined);
  server.close();
  await once(server, 'close');
  assert.equal(listenerOf(`http://127.0.0.1:${port}`), undefined);
});

test('CPU time grows with work', { skip }, () => {
  const before = processorMs(process.pid);
  for (const begun = process.cpuUsage(); process.cpuUsage(begun).user < 50_000; );
  assert.ok(processorMs(process.pid) >= before + 20);
});
