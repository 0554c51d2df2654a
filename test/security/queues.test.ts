import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { SLOW_READER_BYTES } from '../../src/base/limits.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';
import { until } from '../until.ts';

/** Returns the server's sockets of all open connections. */
function serverSockets({ url }: RelayUnderTest): Socket[] {
  const { port } = new URL(url);
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  return handles.filter(
    (handle): handle is Socket =>
      (handle as Socket).localPort === Number(port) && !(handle as Socket).destroyed,
  );
}

/** Opens a connection. Nothing reads from it unless the test does. */
async function dial({ url }: RelayUnderTest): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

async function upgraded(relay: RelayUnderTest, path: string): Promise<Socket> {
  const socket = await dial(relay);
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await once(socket, 'readable');
  return socket;
}

/** Builds a client frame, masked with zeros. */
function frame(opcode: 'text' | 'ping', text: string): Buffer {
  const first = { text: 0x81, ping: 0x89 }[opcode];
  return Buffer.concat([Buffer.from([first, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

/** Writes `part` `times` times, as fast as the server reads. Stops early if the server closes the connection. */
async function flood(socket: Socket, part: Buffer, times: number): Promise<void> {
  const many = Buffer.concat(Array.from({ length: 1000 }, () => part));
  for (let sent = 0; sent < times && !socket.destroyed; sent += 1000) {
    if (!socket.write(many))
      await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
  }
}

const waiting = (relay: RelayUnderTest) =>
  serverSockets(relay).reduce((sum, one) => sum + one.writableLength, 0);

test('a hundred pings at once are all answered', async () => {
  await using relay = await startRelay();
  const socket = await upgraded(relay, '/ws/c');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.write(Buffer.concat(Array.from({ length: 100 }, (_, i) => frame('ping', `ping ${i}.`))));
  await until(() => text.includes('ping 99.'));
  assert.equal(text.match(/ping \d+\./g)?.length, 100);
  socket.destroy();
});

test('a socket client that never reads the replies is disconnected', async () => {
  for (const [path, opcode, text] of [
    ['/ws/c', 'ping', 'x'.repeat(125)],
    ['/ws/c', 'text', '{"ping":1}'],
    ['/ws/c', 'text', 'no frame at all'],
    ['/ws/c?group=g', 'text', '{"ack":1,"token":1}'],
  ] as const) {
    await using relay = await startRelay();
    const socket = await upgraded(relay, path);
    const [ownSocket] = serverSockets(relay);
    void flood(socket, frame(opcode, text), 400_000);
    await until(() => ownSocket!.isPaused() || ownSocket!.destroyed);
    assert.ok(waiting(relay) < SLOW_READER_BYTES, `${waiting(relay)} bytes wait`);
    socket.destroy();
  }
});

test('a client that sends endless requests without reading answers is disconnected, and its requests are dropped', async () => {
  await using relay = await startRelay();
  let followed = 0;
  const { logs } = relay.core.deps.engine;
  const subscribe = logs.subscribe.bind(logs);
  logs.subscribe = (stream, o) => {
    if (!o.signal.aborted) {
      followed++;
      o.signal.addEventListener('abort', () => followed--);
    }
    return subscribe(stream, o);
  };
  const events = 'GET /channels/c/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  const few = await dial(relay);
  few.write(events.repeat(20));
  await until(() => followed === 20);
  few.destroy();
  await until(() => followed === 0);
  const many = await dial(relay);
  const closed = new Promise((resolve) => many.once('close', resolve));
  void flood(many, Buffer.from(events), 5_000);
  await closed;
  await until(() => followed === 0);
  assert.equal((await fetch(`${relay.url}/health`)).status, 200);
});

test('up to a hundred pipelined requests are all answered', async () => {
  await using relay = await startRelay();
  const socket = await dial(relay);
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(100));
  await until(() => text.split('HTTP/1.1 200').length === 101);
  socket.destroy();
});
