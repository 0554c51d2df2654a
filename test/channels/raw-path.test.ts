import assert from 'node:assert/strict';
import { connect as connectTcp } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer } from './server.ts';

test('raw UTF-8 bytes and percent-encoding in a path name the same channel', async () => {
  // Short timeouts: Node must not treat this upgraded connection as a request with incomplete headers and close it.
  await using server = await startTestServer({ timeouts: { headersMs: 200, requestMs: 200, checkMs: 50 } });
  const { hostname, port } = new URL(server.url);
  const socket = connectTcp(Number(port), hostname);
  let text = '';
  let wake = () => {};
  socket.on('data', (data) => {
    text += data.toString('utf8');
    wake();
  });
  const until = async (part: string) => {
    while (!text.includes(part)) await new Promise<void>((resolve) => (wake = resolve));
  };
  socket.write(
    [
      'GET /ws/café HTTP/1.1',
      `Host: ${hostname}:${port}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      '',
      '',
    ].join('\r\n'),
  );
  await until('\r\n\r\n');
  assert.match(text, /^HTTP\/1\.1 101 /);
  for (const msg of ['bonjour', 'encore']) {
    await sleep(400);
    await server.post('/channels/caf%C3%A9', { msg });
    await until(`"msg":"${msg}"`);
  }
  assert.doesNotMatch(text.slice(12), /HTTP\/1\.1/);
  socket.destroy();
});

test('a path that cannot be parsed is rejected', async () => {
  await using server = await startTestServer();
  const { hostname, port } = new URL(server.url);
  const host = `Host: ${hostname}\r\n`;
  for (const [path, headers] of [
    ['/pull/café', host],
    ['/ws/caf\u0001', host],
    ['/ws/café', host],
    ['/ws/café', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'],
    ['/ws/café', `${host}Expect: nothing\r\n`],
  ] as const) {
    const socket = connectTcp(Number(port), hostname);
    socket.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n`);
    let text = '';
    for await (const data of socket) text += data;
    assert.match(text, /^HTTP\/1\.1 400 /, path);
  }
});
