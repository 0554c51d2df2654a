import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Faults extends AsyncDisposable {
  readonly endpoint: string;
  /** True while the server answers every request with 500. */
  isOut: boolean;
  /** Number of listing requests. */
  listings: number;
  /** Number of injected faults per kind. */
  readonly happened: { readonly [fault in Fault]: number };
}

export type Fault = 'error' | 'slow' | 'cut' | 'lost';

const KINDS: readonly Fault[] = ['error', 'slow', 'cut', 'lost'];
/** Every third request gets a fault. The kinds of faults take turns. */
const EVERY = 3;
const SLOW_MS = 50;

/**
 * Starts a proxy that injects a fault into one of `every` requests; 0 means no faults. There are four faults: the
 * answer has the status 500, the request is forwarded late, the connection is cut in the middle of the body, or a
 * forwarded request gets no response.
 */
export async function startFaults(endpoint: string, every = EVERY): Promise<Faults> {
  const to = new URL(endpoint);
  const faults = { isOut: false, listings: 0 };
  const happened = { error: 0, slow: 0, cut: 0, lost: 0 };
  let count = 0;
  const server = createServer((incoming, answer) => {
    const turn = ++count;
    if (incoming.url!.includes('list-type=2')) faults.listings++;
    const fault = every > 0 && turn % every === 0 ? KINDS[(turn / every) % KINDS.length] : undefined;
    if (fault) happened[fault]++;
    if (faults.isOut || fault === 'error') {
      incoming.resume();
      answer.writeHead(500).end();
    } else if (fault === 'slow') setTimeout(() => forward(to, incoming, answer), SLOW_MS);
    else forward(to, incoming, answer, fault);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(faults, {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    happened,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<unknown>((done) => server.close(done));
    },
  });
}

function forward(to: URL, incoming: IncomingMessage, answer: ServerResponse, fault?: 'cut' | 'lost'): void {
  const { method, url, headers } = incoming;
  // Keep the Host header, because the signature covers it.
  const passed = request({ host: to.hostname, port: to.port, method, path: url, headers }, (upstream) => {
    if (fault === 'lost') {
      upstream.resume().once('end', () => answer.destroy());
      return;
    }
    answer.writeHead(upstream.statusCode!, upstream.headers);
    const length = Number(upstream.headers['content-length'] ?? 0);
    if (fault !== 'cut' || length < 2 || method === 'HEAD') {
      upstream.pipe(answer);
      return;
    }
    let left = length >> 1;
    upstream.on('data', (piece: Uint8Array) => {
      const part = piece.subarray(0, left);
      left -= part.length;
      answer.write(part, () => left === 0 && answer.destroy());
    });
  });
  passed.once('error', () => answer.destroy());
  answer.once('close', () => passed.destroy());
  incoming.pipe(passed);
}
