import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WebSocket } from 'ws';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import { ContextRelay } from '../../src/public/index.ts';
import { openTestCore } from './core.ts';
import { startTestServer } from './server.ts';

const MESSAGES = 100_000;
const AT_ONCE = 64;

/**
 * Records which messages one subscriber has received, in one byte per message. Fails if a message comes twice or out of
 * order.
 */
class Tally {
  readonly #received: Uint8Array;
  readonly #name: string;
  last = 0;
  count = 0;
  reconnects = 0;

  constructor(name: string, messages: number) {
    this.#name = name;
    this.#received = new Uint8Array(messages);
  }

  take(n: number, seq: number): void {
    assert.ok(seq > this.last, `${this.#name}: ${seq} after ${this.last}`);
    assert.equal(this.#received[n], 0, `${this.#name}: ${n} came twice`);
    this.#received[n] = 1;
    this.last = seq;
    this.count++;
  }

  get complete(): boolean {
    return this.count === this.#received.length;
  }
}

/** A WebSocket client that misbehaves: it disconnects, or stops reading for a while. */
function follow(url: string, tally: Tally, manners: 'drops' | 'lags'): Promise<void> {
  return new Promise((done, failed) => {
    const open = () => {
      let left = 500 + Math.floor(Math.random() * 3000);
      const socket = new WebSocket(`${url}?since=${tally.last}`);
      socket.on('message', (data) => {
        // After a disconnect, ignore buffered messages: the relay sends them again.
        if (socket.readyState !== WebSocket.OPEN && manners === 'drops') return;
        const frame = JSON.parse(String(data));
        try {
          assert.equal(frame.gap, undefined, 'nothing was trimmed');
          tally.take(frame.msg, frame.seq);
        } catch (error) {
          failed(error);
        }
        if (tally.complete) {
          socket.close();
          done();
        } else if (--left === 0) {
          left = 500 + Math.floor(Math.random() * 3000);
          if (manners === 'drops') socket.terminate();
          else {
            socket.pause();
            setTimeout(() => socket.resume(), Math.random() * 800);
          }
        }
      });
      socket.on('error', () => {});
      socket.on('close', () => {
        tally.reconnects++;
        if (!tally.complete) setTimeout(open, Math.random() * 50);
      });
    };
    open();
  });
}

test('a hundred thousand messages reach subscribers that drop, reconnect and lag, in order, once each and without a memory leak', async () => {
  const home = mkdtempSync(join(tmpdir(), 'relay-soak-'));
  const engine = await openSqlite({ home, durability: 'process' });
  try {
    await using core = openTestCore({ messages: 10 * MESSAGES }, { engine });
    await using server = await startTestServer({ core, sockets: { slowReaderBytes: 128 * 1024 } });
    const client = new ContextRelay({ baseUrl: server.url });
    // Warm up once, so that one-time allocations are not measured.
    await run(server.ws, client, core, 'warm', 3000);
    const before = heapMegabytes();
    const tallies = await run(server.ws, client, core, 'soak', MESSAGES);
    assert.ok(
      tallies.some(({ reconnects }) => reconnects > 10),
      'there were drops',
    );
    const after = heapMegabytes();
    assert.ok(after - before < 20, `the heap grew from ${before} to ${after} MB`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

async function run(
  ws: string,
  client: ContextRelay,
  { relay }: ReturnType<typeof openTestCore>,
  channel: string,
  messages: number,
): Promise<{ reconnects: number }[]> {
  const names = ['steady', 'steady', 'drops', 'drops', 'drops', 'lags', 'lags'] as const;
  const tallies = names.map((name) => new Tally(name, messages));
  const finished = names.map(async (manners, i) => {
    const tally = tallies[i]!;
    if (manners !== 'steady') return follow(`${ws}/ws/${channel}`, tally, manners);
    for await (const { msg, seq } of client.subscribe(channel, { since: 0 })) {
      tally.take(msg as number, seq);
      if (tally.complete) return;
    }
  });
  let next = 0;
  const writers = Array.from({ length: AT_ONCE }, async () => {
    while (next < messages) await relay.channels.publish(channel, next++);
  });
  await Promise.all([...writers, ...finished]);
  return tallies.map(({ reconnects }) => ({ reconnects }));
}

function heapMegabytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) collect();
  return Math.round(process.memoryUsage().heapUsed / 1024 / 1024);
}
