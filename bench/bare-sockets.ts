/**
 * The baseline for channels: a bare `ws` server. `POST /push` keeps the body in memory, sends its address to every
 * socket, and answers. It writes nothing to disk, so offline clients miss the message.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const bodies = new Map<string, Buffer>();
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const id = crypto.randomUUID();
  bodies.set(id, Buffer.concat(chunks));
  const url = `http://127.0.0.1/pull/${id}`;
  const text = JSON.stringify({ url, ts: Date.now() });
  for (const socket of sockets.clients) socket.send(text);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ url, id }));
});
const sockets = new WebSocketServer({ server });
// `/replay/<n>` sends n messages as fast as the socket takes them.
sockets.on('connection', (socket, { url }) => {
  const count = Number(/^\/replay\/(\d+)$/.exec(url ?? '')?.[1] ?? 0);
  for (let n = 0; n < count; n++)
    socket.send(JSON.stringify({ msg: `signal ${n}`, ts: Date.now(), seq: n, from: 'local' }));
});
server.listen(0, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
