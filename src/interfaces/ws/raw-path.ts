import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

interface ParseError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/**
 * Some WebSocket clients send the name of a channel as raw UTF-8, which Node's parser refuses to see in a path. The
 * request is parsed once more with those bytes percent-encoded, as other clients send them; anything else that cannot be
 * parsed is refused as Node refuses it.
 */
export function acceptRawPaths(server: Server, upgrade: Upgrade): void {
  const taken = new WeakSet<Duplex>();
  server.on('clientError', (error: ParseError, socket) => {
    // The parser that gave up goes on waiting for headers, and complains when they do not come.
    if (taken.has(socket)) return;
    const encoded = encodedUpgrade(error);
    if (encoded === null) return refuse(error, socket);
    // Those of the parser that gave up; the connection is the socket's from here on.
    taken.add(socket);
    for (const event of ['data', 'end', 'drain']) socket.removeAllListeners(event);
    parseUpgrade(encoded, (request, head) => {
      if (request === null) return refuse(error, socket);
      request.socket = socket as Socket;
      upgrade(request, socket, head);
    });
  });
}

/** The head of a request for a socket with its path encoded; null for anything else, and for half a head. */
function encodedUpgrade({ code, rawPacket }: ParseError): Buffer | null {
  if (code !== 'HPE_INVALID_URL' || !rawPacket) return null;
  const text = rawPacket.toString('latin1');
  const [line] = /^GET \/(?:v1\/)?ws\/[^\s]* HTTP\/1\.1\r\n/.exec(text) ?? [];
  if (line === undefined || !text.includes('\r\n\r\n')) return null;
  const encoded = line.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  return Buffer.from(encoded + text.slice(line.length), 'latin1');
}

/** Has Node parse a request that came by another way than a connection. Null where it asks for no upgrade. */
function parseUpgrade(bytes: Buffer, done: (request: IncomingMessage | null, head: Buffer) => void): void {
  const parser = createServer((_request, response) => response.end());
  parser.on('upgrade', (request, _connection, head) => done(request, head));
  // Whatever is answered, by this parser or by Node itself, is a refusal.
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

function refuse({ code = '' }: ParseError, socket: Duplex): void {
  if (socket.writable)
    socket.write(`HTTP/1.1 ${STATUS[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
  socket.destroy();
}
