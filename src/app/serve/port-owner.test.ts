import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { after, before, test } from 'node:test';
import { nextFreePort, portOwner, tryPort } from './port-owner.ts';

let server: Server;
let port = 0;
before(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as { port: number }).port;
});
after(() => server.close());

test('the process that uses a port is named by process id and command', {
  skip: process.platform === 'win32',
}, async () => {
  const owner = await portOwner(port);
  assert.equal(owner?.pid, process.pid);
  assert.match(owner!.command, /node/);
});

test('a used port is distinguished from a free one, and the next free port is found', async () => {
  assert.equal(await tryPort('127.0.0.1', port), 'taken');
  const next = await nextFreePort('127.0.0.1', port);
  assert.ok(next! > port);
  assert.equal(await tryPort('127.0.0.1', next!), 'free');
});

test('an address of another machine is an error, and does not count as a used port', async () => {
  assert.equal(await tryPort('192.0.2.1', 0), 'refused');
});
