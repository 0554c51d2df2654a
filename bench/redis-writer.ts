import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Asker } from './compare-requests.ts';

/** Number of keys. They are overwritten in turn, so that memory stays small and the append-only file is measured. */
const KEYS = 1000;

/** Returns a client that sets a value under one key after another. Each request uses a free connection. */
export async function redisWriter(url: string, value: Buffer, connections: number): Promise<Asker> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(Number(port), hostname).setNoDelay();
      await once(socket, 'connect');
      return socket;
    }),
  );
  const free = [...sockets];
  let keys = 0;
  return {
    async ask() {
      const socket = free.pop()!;
      await set(socket, `body-${keys++ % KEYS}`, value);
      free.push(socket);
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sends a SET and waits for the answer, which is short enough to arrive in one chunk. */
async function set(socket: Socket, key: string, value: Buffer): Promise<void> {
  socket.cork();
  socket.write(`*3\r\n$3\r\nSET\r\n$${key.length}\r\n${key}\r\n$${value.length}\r\n`);
  socket.write(value);
  socket.write('\r\n');
  socket.uncork();
  const [answer] = await once(socket, 'data');
  if (String(answer) !== '+OK\r\n') throw new Error(`Redis answered ${answer}`);
}
