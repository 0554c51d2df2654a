import { rmSync } from 'node:fs';
import { loadConfig } from '../../src/app/config.ts';
import { openCore } from '../../src/app/store/open-core.ts';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import type { Relay } from '../../src/contract/relay.ts';
import type { Bench } from '../bench.ts';
import { benchFolder } from '../servers.ts';
import { median, type Round, summarise } from '../statistics.ts';

const FEW = 100;
const GROWN = [10, 100];

interface Listed {
  add(relay: Relay, n: number): Promise<unknown>;
  list(relay: Relay): Promise<unknown>;
}

const LISTS: { readonly [name: string]: Listed } = {
  pointers: {
    add: ({ pointers }, n) => pointers.push({ body: new TextEncoder().encode(`payload ${n}`) }),
    list: ({ pointers }) => pointers.list({ limit: 50 }),
  },
  threads: {
    add: ({ threads }, n) => threads.create({ name: `thread ${n}` }),
    list: ({ threads }) => threads.list({ limit: 50 }),
  },
  channels: {
    add: ({ channels }, n) => channels.publish(`channel ${n}`, 'hello'),
    list: ({ channels }) => channels.list({ limit: 50 }),
  },
};

/** Compares the first page of a list in a small and in a large store. */
export default Object.entries(LISTS).map(([name, { add, list }]) => ({
  name: `list-${name}`,
  claim: null,
  limit: null,
  async run({ rounds }) {
    const homes: string[] = [];
    const filled = async (count: number) => {
      const home = benchFolder();
      homes.push(home);
      const config = loadConfig({ RELAY_HOME: home, RELAY_DURABILITY: 'process' });
      const opened = await openCore(config, 'server');
      const relay = opened.core.relay(LOCAL_CALLER, 'http://relay.invalid');
      for (let n = 0; n < count; n += 100)
        await Promise.all(Array.from({ length: 100 }, (_, i) => add(relay, n + i)));
      return { relay, opened };
    };
    const stores = [await filled(FEW), ...(await Promise.all(GROWN.map((times) => filled(FEW * times))))];
    try {
      const times: number[][] = [];
      for (let round = -5; round < rounds * 2; round++) {
        const took: number[] = [];
        for (const { relay } of stores) {
          const began = performance.now();
          await list(relay);
          took.push(performance.now() - began);
        }
        if (round >= 0) times.push(took);
      }
      const most: Round[] = times.map((took) => ({ ours: took.at(-1)!, baseline: took[0]! }));
      const ten = median(times.map((took) => took[1]! / took[0]!)).toFixed(2);
      return summarise(
        most,
        'ms',
        `50 ${name} of ${FEW * GROWN.at(-1)!}; of ${FEW}. Of ${FEW * GROWN[0]!}: ${ten}×`,
      );
    } finally {
      for (const { opened } of stores) await opened[Symbol.asyncDispose]();
      for (const home of homes) rmSync(home, { recursive: true, force: true });
    }
  },
})) satisfies Bench[];
