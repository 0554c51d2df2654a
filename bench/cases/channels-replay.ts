import { once } from 'node:events';
import { WebSocket } from 'ws';
import { loadConfig } from '../../src/app/config.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Bench } from '../bench.ts';
import { benchFolder, startBareSockets, startRelayOn } from '../servers.ts';
import { type Round, summarise } from '../statistics.ts';

const MESSAGES = 100_000;
const SETTINGS = { RELAY_CHANNEL_MESSAGES: String(2 * MESSAGES) };

export default {
  name: 'channels-replay',
  claim: null,
  limit: null,
  async run({ rounds }) {
    await using relay = await startRelayOn(await channelOf(MESSAGES), SETTINGS);
    await using bare = await startBareSockets();
    const measured: Round[] = [];
    for (let round = -1; round < Math.ceil(rounds / 4); round++) {
      const ours = await replayRate(`${relay.url}/ws/long?since=all`);
      const baseline = await replayRate(`${bare.url}/replay/${MESSAGES}`);
      if (round >= 0) measured.push({ ours, baseline });
    }
    const detail =
      'messages a second of a channel of 100 000, read from the beginning; bare ws: as many from memory';
    return summarise(measured, '/s', detail);
  },
} satisfies Bench;

/** Creates a store whose channel has this many signals, and returns its home. */
async function channelOf(messages: number): Promise<string> {
  const home = benchFolder();
  const opened = await openCore(
    loadConfig({ RELAY_HOME: home, RELAY_DURABILITY: 'process', ...SETTINGS }),
    'server',
  );
  const { channels } = opened.core.relay(LOCAL_CALLER, 'http://relay.invalid');
  for (let n = 0; n < messages; n += 500)
    await Promise.all(Array.from({ length: 500 }, (_, i) => channels.publish('long', `signal ${n + i}`)));
  await opened[Symbol.asyncDispose]();
  return home;
}

/** Replays all messages of the channel and returns the rate in messages per second. */
async function replayRate(url: string): Promise<number> {
  const began = performance.now();
  const socket = new WebSocket(url.replace('http', 'ws'), { perMessageDeflate: false });
  let left = MESSAGES;
  const all = new Promise<void>((resolve) => {
    socket.on('message', () => {
      if (--left === 0) resolve();
    });
  });
  await Promise.race([
    all,
    once(socket, 'close').then(() => Promise.reject(new Error(`${left} are missing.`))),
  ]);
  const rate = MESSAGES / ((performance.now() - began) / 1000);
  socket.terminate();
  return rate;
}
