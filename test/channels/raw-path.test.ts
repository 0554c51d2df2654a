import assert from 'node:assert/strict';
import { connect as connectTcp } from 'node:net';
import { test } from 'node:test';
import { startTestServer } from './server.ts';

test('a channel named in raw UTF-8 bytes is the one that is named in percent-encoded form', async () => {
  await using server = await startTestServer();
  const { hostname, port } = new URL(server.url);
  const socket = connectTcp(Number(port), hostname);
  const received = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (data) => {
      text += data.toString('utf8');
      if (text.includes('"msg"')) resolve(text);
      else if (text.includes('\r\n\r\n')) void server.post('/channels/caf%C3%A9', { msg: 'bonjour' });
    });
  });
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
  assert.match(await received, /^HTTP\/1\.1 101 [\s\S]*"msg":"bonjour"/);
  socket.destroy();
});

test('what cannot be parsed at all is still refused', async () => {
  await using server = await startTestServer();
  const { hostname, port } = new URL(server.url);
  for (const path of ['/pull/café', '/ws/caf\u0001']) {
    const socket = connectTcp(Number(port), hostname);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    let text = '';
    for await (const data of socket) text += data;
    assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/, path);
  }
});
