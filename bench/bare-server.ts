/**
 * The baseline: the least work that a Node server can do for the same bytes. `GET /bytes/<n>` returns n bytes from memory.
 * `POST /push` writes the body to a new file, waits for fdatasync, and answers. Run as: bare-server.ts <folder>.
 */
import { open } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

const folder = process.argv[2] ?? '.';
const bodies = new Map<number, Buffer>();
let files = 0;

const server = createServer((request, response) => {
  if (request.method === 'POST') void store(request, response);
  else answer(request, response);
});
server.listen(0, '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

async function store(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const file = await open(join(folder, `body-${files++}`), 'wx', 0o600);
  await file.write(Buffer.concat(chunks));
  await file.datasync();
  await file.close();
  const body = JSON.stringify({ stored: files });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const size = Number(/^\/bytes\/(\d+)$/.exec(request.url ?? '')?.[1]);
  let body = bodies.get(size);
  if (!body) {
    body = Buffer.alloc(size, 'x');
    bodies.set(size, body);
  }
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size }).end(body);
}
