import type { Duplex } from 'node:stream';
import { isRelayError, RelayError } from '../../base/errors.ts';

/** Answers an upgrade that does not come about, like any other request that fails. */
export function refuse(socket: Duplex, reason: unknown): void {
  const error = isRelayError(reason) ? reason : new RelayError('internal', { request: 'unknown' });
  const body = JSON.stringify(error);
  const head = [
    `HTTP/1.1 ${error.status} Refused`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    ...(error.code === 'unauthorized' ? ['WWW-Authenticate: Bearer realm="relay"'] : []),
  ];
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
