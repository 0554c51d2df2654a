import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { startGuarded } from '../keys/guarded-relay.ts';
import { until } from '../until.ts';

function dial(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  return socket;
}

async function closed(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  // Do not use `once` of node:events: it throws if the socket is reset before it is closed.
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

const QUICK = { headersMs: 150, requestMs: 300, idleMs: 300, checkMs: 50 };

test('a slow-loris client is disconnected, in its headers or its body, and others are served meanwhile', async () => {
  await using relay = await startGuarded({ server: { timeouts: QUICK } });
  const { key } = await relay.key();
  const slow = Array.from({ length: 50 }, () => dial(relay.url));
  const trickle = setInterval(() => {
    for (const [i, socket] of slow.entries()) socket.write(i % 2 === 0 ? 'X-Slow: 1\r\n' : 'x');
  }, 40).unref();
  for (const [i, socket] of slow.entries()) {
    socket.write(i % 2 === 0 ? 'GET / HTTP/1.1\r\nHost: localhost\r\n' : bodyHead(key));
  }
  assert.equal((await relay.ask('GET', '/health')).status, 200);
  await Promise.all(slow.map(closed)).finally(() => clearInterval(trickle));
  assert.equal((await relay.ask('GET', '/health')).status, 200);
});

function bodyHead(key: string): string {
  return `POST /push HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Length: 100000\r\n\r\n`;
}

test('a connection that sends nothing is closed', async () => {
  await using relay = await startGuarded({ server: { timeouts: QUICK } });
  await closed(dial(relay.url));
});

test('a client that stops reading is disconnected', async () => {
  await using relay = await startGuarded({
    server: { timeouts: { ...QUICK, requestMs: 60_000, keepAliveMs: 50 } },
  });
  const body = new Uint8Array(20 * 1024 * 1024).fill(120);
  // Push without HTTP, because on a busy machine an HTTP push may exceed the short timeouts of this server.
  const { id } = await relay.core.relay(LOCAL_CALLER, relay.url).pointers.push({ body, visibility: 'link' });
  const socket = dial(relay.url);
  socket.write(`GET /pull/${id}?raw=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await once(socket, 'readable');
  socket.pause();
  // The server closes its end. Our end stays open, because it has unread data, so it is destroyed below.
  await until(() => serverSockets(relay.url) <= 0);
  socket.destroy();
});

/** Returns the number of open connections of the server, which runs in this process. */
function serverSockets(url: string): number {
  const { port } = new URL(url);
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  return handles.filter(
    (handle) => (handle as Socket).localPort === Number(port) && !(handle as Socket).destroyed,
  ).length;
}

test('a socket that answers no ping is disconnected', async () => {
  await using relay = await startGuarded({ server: { sockets: { pingEveryMs: 60 } } });
  const { key } = await relay.key();
  const ws = new WebSocket(`${relay.url.replace('http', 'ws')}/ws/c`, {
    headers: { Authorization: `Bearer ${key}` },
    autoPong: false,
  });
  await once(ws, 'open');
  const [code] = await once(ws, 'close');
  assert.equal(code, 1006);
});

test('a frame larger than an acknowledgement closes the socket, and the server goes on', async () => {
  await using relay = await startGuarded();
  const { key } = await relay.key();
  const ws = new WebSocket(`${relay.url.replace('http', 'ws')}/ws/c`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  await once(ws, 'open');
  ws.send('x'.repeat(10 * 1024 * 1024));
  const [code] = await once(ws, 'close');
  assert.equal(code, 1009);
  assert.equal((await relay.ask('GET', '/health')).status, 200);
});

test('headers that are too many or too large are refused', async () => {
  await using relay = await startGuarded();
  const send = async (headers: string) => {
    const socket = dial(relay.url);
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`);
    return closed(socket);
  };
  assert.match(await send(`X-Large: ${'x'.repeat(70_000)}\r\n`), /^HTTP\/1\.1 431 /);
  assert.match(await send('X-Many: 1\r\n'.repeat(100)), /^HTTP\/1\.1 200 /);
  assert.match(await send('Bad header\r\n'), /^HTTP\/1\.1 400 /);
  assert.match(await send('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n'), /^HTTP\/1\.1 400 /);
});

test('the number of connections is limited, in total and per address', async () => {
  await using relay = await startGuarded({ server: { connections: { perAddress: 3 } } });
  const sockets = [dial(relay.url), dial(relay.url), dial(relay.url)];
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  assert.equal(await closed(dial(relay.url)), '');
  sockets[0]!.destroy();
  let status = 0;
  while (status !== 200)
    status = await relay.ask('GET', '/health').then(
      ({ status: s }) => s,
      () => 0,
    );
  for (const socket of sockets) socket.destroy();
});

test('a stopping server answers the requests that it accepted', async () => {
  await using relay = await startGuarded({ core: { defaultPlan: 'team' } });
  const { key } = await relay.key();
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const answers: { id: string }[] = [];
  let stopped = false;
  const push = () =>
    new Promise<void>((resolve) => {
      const out = request(`${relay.url}/push`, {
        agent,
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Length': 5 },
      });
      out.on('response', (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => {
          assert.equal(response.statusCode, 200, text);
          answers.push(JSON.parse(text));
          resolve();
        });
      });
      // The server may close a connection before it has read the request. Such a request counts as not accepted.
      out.on('error', () => resolve());
      out.end('hello');
    });
  const client = async () => {
    while (!stopped) await push();
  };
  const clients = Array.from({ length: 20 }, client);
  await until(() => answers.length >= 100);
  const slow = dial(relay.url);
  slow.write(bodyHead(key).replace('100000', '5').concat('he'));
  await once(slow, 'connect');
  await new Promise((resolve) => setTimeout(resolve, 50));
  const stopping = relay.stop().then(() => {
    stopped = true;
  });
  slow.write('llo');
  const answer = await closed(slow);
  assert.match(answer, /^HTTP\/1\.1 200 /);
  await Promise.all([...clients, stopping]);
  agent.destroy();
  answers.push(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))));
  for (const { id } of answers) assert.ok(await relay.engine.records.get(`ptr.${id}/meta`));
  assert.equal((await relay.engine.usage()).blobs.count, answers.length, 'and nothing else was taken in');
});
