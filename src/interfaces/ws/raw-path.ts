import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface ParseError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/**
 * Accepts WebSocket requests with raw UTF-8 in the path. Some clients send channel names in this form, but Node's
 * HTTP parser rejects it. Percent-encodes the path and parses the request again. Any other request that cannot be
 * parsed gets Node's error.
 */
export function acceptRawPaths(server: Server, upgrade: Upgrade): void {
  const handled = new WeakSet<Duplex>();
  server.on('clientError', (error: ParseError, socket) => {
    // The failed parser still waits for the headers of this request and later reports a timeout. Ignore it.
    if (handled.has(socket)) return;
    const encoded = encodedUpgrade(error);
    if (encoded === null) return reject(error, socket);
    // Remove the listeners of the failed parser: the connection now belongs to the WebSocket.
    handled.add(socket);
    for (const event of ['data', 'end', 'drain']) socket.removeAllListeners(event);
    parseUpgrade(encoded, (request, head) => {
      if (request === null) return reject(error, socket);
      request.socket = socket as Socket;
      upgrade(request, socket, head);
    });
  });
}

/**
 * Returns the head of the request with a percent-encoded path, or null if it is no complete WebSocket
 * request.
 */
function encodedUpgrade({ code, rawPacket }: ParseError): Buffer | null {
  if (code !== 'HPE_INVALID_URL' || !rawPacket) return null;
  const text = rawPacket.toString('latin1');
  const [line] = /^GET \/(?:v1\/)?ws\/[^\s]* HTTP\/1\.1\r\n/.exec(text) ?? [];
  if (line === undefined || !text.includes('\r\n\r\n')) return null;
  const encoded = line.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  return Buffer.from(encoded + text.slice(line.length), 'latin1');
}

/**
 * Parses the bytes of a request with Node's HTTP server. Calls `done` with null if the request is not an
 * upgrade.
 */
function parseUpgrade(bytes: Buffer, done: (request: IncomingMessage | null, head: Buffer) => void): void {
  const parser = createServer((_request, response) => response.end());
  parser.on('upgrade', (request, _connection, head) => done(request, head));
  // A response, from this server or from Node itself, means that the request was not an upgrade.
  const answered = (_chunk: unknown, _encoding: unknown, written: () => void) => {
    connection.destroy();
    written();
    done(null, Buffer.alloc(0));
  };
  const connection = new Duplex({ read() {}, write: answered });
  parser.emit('connection', connection);
  connection.push(bytes);
}

const STATUS: { readonly [code: string]: string } = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

function reject({ code = '' }: ParseError, socket: Duplex): void {
  if (socket.writable)
    socket.write(`HTTP/1.1 ${STATUS[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
  socket.destroy();
}
