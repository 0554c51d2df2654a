import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Bench } from '../bench.ts';
import { plainEnv, RELAY, startRelay } from '../servers.ts';
import { median } from '../statistics.ts';

const BUDGET_MS = 50;

/** Time from a push by a command to a socket of the server. The ratio is this time divided by its budget. */
export default {
  name: 'channels-store',
  claim: 'less than 50 ms',
  limit: 1,
  async run({ rounds }) {
    await using relay = await startRelay();
    const socket = new WebSocket(`${relay.url.replace('http', 'ws')}/ws/store`);
    await once(socket, 'open');
    const waits: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const arrival = once(socket, 'message').then(([data]) => ({ at: Date.now(), data }));
      await pushOnStore(relay.folder);
      const { at, data } = await arrival;
      // Subtract the time at which the other process wrote the message. The message contains this time.
      waits.push(at - (JSON.parse(String(data)) as { ts: number }).ts);
    }
    socket.terminate();
    const measured = median(waits);
    const detail = 'from a push by the command on the store to a socket of the server; budget: 50 ms';
    return { measured, baseline: BUDGET_MS, unit: 'ms', ratio: measured / BUDGET_MS, detail };
  },
} satisfies Bench;

async function pushOnStore(home: string): Promise<void> {
  const child = spawn(process.execPath, [RELAY, 'push', '--channel', 'store', '--home', home], {
    env: plainEnv(),
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.end('a payload');
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`The push ended with exit code ${code}.`);
}
