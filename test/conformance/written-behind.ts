import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { RelayCore } from '../../src/domain/relay-core.ts';
import type { TextWork } from '../../src/domain/text-work.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { ok, same } from './assert.ts';
import { collect, patterned } from './bodies.ts';
import type { Case } from './case.ts';
import { range } from './keys.ts';

/** The cases never call text work, such as search. */
const NO_TEXTS = {} as TextWork;

/** Cases about the relay's background work on any engine: write-behind and the sweep that runs every minute. */
export const writtenBehindCases: readonly Case[] = [
  {
    name: 'engine: write-behind data is stored once the deferred work has run',
    async run(engine, clock) {
      const deferred: (() => Promise<unknown>)[] = [];
      // Simulates an engine without its own process: deferred work does not run by itself.
      const { core, relay } = relayOn(
        wrapped(engine, { defer: (work) => void deferred.push(work) }),
        clock.now,
      );
      const { id } = await relay.pointers.push({ body: patterned(100) });
      await collect((await relay.pointers.pull(id)).body);
      const { key } = await relay.keys.create({ name: 'ann', tenant: 'acme' });
      ok(await core.keys.authenticate(key), 'a key');
      const storedCounts = async () => [
        (await engine.records.list(`ptr.${id}/`)).items.filter(({ key }) => key.endsWith('/receipts')).length,
        (await engine.records.list('ten.local/stats/')).items.length,
        (await engine.records.list('ten.acme/key-used/')).items.length,
      ];
      same(await storedCounts(), [0, 0, 0], 'nobody waits for it');
      ok(deferred.length > 0, 'it was deferred');
      while (deferred.length > 0) await deferred.shift()!();
      same(await storedCounts(), [1, 1, 1]);
      await core.close();
    },
  },
  {
    name: 'engine: the work of every minute makes no list that grows with the number of pointers',
    async run(engine, clock) {
      let listed = 0;
      const countCalls = <I>(list: Engine['records']['list']) => {
        return async (...args: Parameters<typeof list>) => {
          const page = await list(...args);
          listed += 1 + page.items.length;
          return page as I;
        };
      };
      const { blobs, records } = engine;
      const watched = wrapped(engine, {
        blobs: wrapped(blobs, { list: countCalls(blobs.list.bind(blobs) as never) }),
        records: wrapped(records, { list: countCalls(records.list.bind(records)) }),
      });
      const { core, relay } = relayOn(watched, clock.now);
      const push = async () => {
        const { id } = await relay.pointers.push({ body: patterned(10), channel: 'c' });
        await collect((await relay.pointers.pull(id)).body);
      };
      const minute = async () => {
        listed = 0;
        clock.advance(60_000);
        await core.receipts.flush();
        await core.sweepStore([LOCAL_CALLER.tenant]);
        return listed;
      };
      await push();
      await minute();
      const few = await minute();
      // Write-behind may fall into this minute or the next, so a minute may list up to 20 records more than `few`. A
      // sweep that listed all pointers would list at least 150 more.
      const isNoLonger = async (when: string) => {
        const many = await minute();
        ok(many < few + 20, `${when}: ${many} where it was ${few}`);
      };
      for (const _ of range(150)) await push();
      await isNoLonger('with more of them');
      clock.advance(3_600_000);
      await isNoLonger('an hour later');
      await core.close();
    },
  },
];

function relayOn(engine: Engine, now: () => number) {
  const env = { now, randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)) };
  const core = new RelayCore({ engine, env, texts: NO_TEXTS }, { auth: 'keys' });
  return { core, relay: core.relay(LOCAL_CALLER, 'http://relay.test') };
}

/** Wraps an object and replaces some of its methods. */
function wrapped<T extends object>(port: T, instead: Partial<T>): T {
  return new Proxy(port, {
    get: (target, name) => {
      const member = (instead as Record<PropertyKey, unknown>)[name] ?? Reflect.get(target, name, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
