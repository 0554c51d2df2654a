import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Bench } from '../bench.ts';
import { type Server, startRelay } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const JOBS = 400;
const MEMBERS = 8;

/**
 * Compares jobs of a group with publishing. A job costs two durable writes, a claim and an ack. A publish costs one
 * durable write.
 */
export default {
  name: 'channels-group',
  claim: null,
  limit: null,
  async run({ rounds }) {
    await using relay = await startRelay();
    const measured: Round[] = [];
    for (let round = -1; round < Math.ceil(rounds / 4); round++) {
      const channel = `jobs-${round + 1}`;
      const baseline = await publishRate(relay, channel);
      const ours = await workRate(relay, channel);
      if (round >= 0) measured.push({ ours, baseline });
    }
    const detail = `jobs a second, each claimed and acked, by ${MEMBERS} members of a group; publishes a second, as many at once`;
    return summarise(measured, '/s', detail);
  },
} satisfies Bench;

async function publishRate({ url }: Server, channel: string): Promise<number> {
  let left = JOBS;
  const began = performance.now();
  const sender = async () => {
    while (left-- > 0) {
      const response = await fetch(`${url}/channels/${channel}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ msg: 'a job' }),
      });
      if (!response.ok) throw new Error(`A publish was answered with ${response.status}.`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: MEMBERS }, sender));
  return JOBS / ((performance.now() - began) / 1000);
}

async function workRate({ url }: Server, channel: string): Promise<number> {
  let left = JOBS;
  let done = () => {};
  const all = new Promise<void>((resolve) => {
    done = resolve;
  });
  const began = performance.now();
  const members = Array.from({ length: MEMBERS }, () => {
    const socket = new WebSocket(
      `${url.replace('http', 'ws')}/ws/${channel}?group=workers&since=all&prefetch=4`,
    );
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as { seq?: number; token?: number; acked?: number };
      if (message.token !== undefined)
        socket.send(JSON.stringify({ ack: message.seq, token: message.token }));
      if (message.token !== undefined && --left === 0) done();
    });
    return socket;
  });
  await Promise.all(members.map((socket) => once(socket, 'open')));
  await all;
  const rate = JOBS / ((performance.now() - began) / 1000);
  for (const socket of members) socket.terminate();
  return rate;
}
