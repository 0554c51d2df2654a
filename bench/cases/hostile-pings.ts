import { once } from 'node:events';
import { connect } from 'node:net';
import type { Bench } from '../bench.ts';
import { healthUnder } from '../under-attack.ts';

const PINGS_MB = 39;

/** A ping frame without a payload, masked with zeros as a client must. */
const PING = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);

export default {
  name: 'hostile-pings',
  claim: 'less than 250 ms',
  limit: 1,
  run: () =>
    healthUnder({
      detail: `a WebSocket that sends ${PINGS_MB} MB of pings and never reads`,
      budgetMb: 250,
      budgetSliceMs: 100,
      async prepare({ url }) {
        const socket = connect(Number(new URL(url).port), '127.0.0.1');
        socket.on('error', () => {});
        await once(socket, 'connect');
        socket.write(
          'GET /ws/c HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
            'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
        );
        await once(socket, 'readable');
        const many = Buffer.concat(Array.from({ length: 10_000 }, () => PING));
        const closed = new Promise((resolve) => socket.once('close', resolve));
        // A client cannot detect that the relay has stopped reading, so wait for a fixed time.
        const patience = () => new Promise((resolve) => setTimeout(resolve, 5_000));
        return async () => {
          for (let sent = 0; sent < PINGS_MB * 1e6 && !socket.destroyed; sent += many.length) {
            if (socket.write(many)) continue;
            const stuck = Symbol('stuck');
            const took = await Promise.race([once(socket, 'drain'), closed, patience().then(() => stuck)]);
            if (took === stuck) break;
          }
          socket.destroy();
        };
      },
    }),
} satisfies Bench;
