import { ok, same } from './assert.ts';
import type { Case } from './case.ts';
import { range } from './keys.ts';
import { appendAll, ascending, follow, readAll } from './streams.ts';

export const subscriptionCases: readonly Case[] = [
  {
    name: 'subscriptions: a subscription replays from the beginning and continues live, with the same entries as read',
    async run({ logs }, clock) {
      await appendAll(logs, 'sub.a', ['old', 'older']);
      const follower = follow(logs, 'sub.a');
      const replayed = await follower.take(2);
      clock.advance(5000);
      const waiting = follower.take(1);
      await logs.append('sub.a', { live: true });
      same([...replayed, ...(await waiting)], (await logs.read('sub.a')).entries);
      same(await follower.stop(), []);
    },
  },
  {
    name: 'subscriptions: a subscription starts after the given sequence number',
    async run({ logs }) {
      const sequences = await appendAll(logs, 'sub.after', range(10));
      const middle = follow(logs, 'sub.after', sequences[6]);
      same(
        (await middle.take(3)).map((e) => e.data),
        [7, 8, 9],
      );
      const end = follow(logs, 'sub.after', sequences[9]);
      const waiting = end.take(1);
      await logs.append('sub.after', 'new');
      same((await waiting)[0]?.data, 'new');
      same((await middle.take(1))[0]?.data, 'new');
      await Promise.all([middle.stop(), end.stop()]);
    },
  },
  {
    name: 'subscriptions: a subscription waits for a stream that does not exist yet, and receives no other stream',
    async run({ logs }) {
      const follower = follow(logs, 'sub.later');
      const waiting = follower.take(1);
      await appendAll(logs, 'sub.later.not', ['no']);
      await appendAll(logs, 'sub.late', ['no']);
      await appendAll(logs, 'sub.later', ['yes']);
      same((await waiting)[0]?.data, 'yes');
      await follower.stop();
    },
  },
  {
    name: 'subscriptions: no entry is lost, repeated or out of order between replay and live',
    async run({ logs }) {
      const writers = 4;
      const each = 60;
      await appendAll(logs, 'sub.busy', range(30));
      const followers = [follow(logs, 'sub.busy')];
      const batches = [followers[0]!.take(30 + writers * each)];
      await Promise.all(
        range(writers).map(async (writer) => {
          for (const i of range(each)) {
            await logs.append('sub.busy', [writer, i]);
            if (i % 20 !== writer) continue;
            const follower = follow(logs, 'sub.busy');
            followers.push(follower);
            batches.push(follower.take(30 + writers * each));
          }
        }),
      );
      const all = await readAll(logs, 'sub.busy');
      same(all.length, 30 + writers * each);
      for (const entries of await Promise.all(batches)) same(entries, all);
      for (const writer of range(writers)) {
        const writerData = all.map((e) => e.data as number[]).filter((data) => data[0] === writer);
        same(
          writerData.map((data) => data[1]),
          range(each),
          'in the order in which each writer wrote',
        );
      }
      for (const follower of followers) same(await follower.stop(), []);
    },
  },
  {
    name: 'subscriptions: a slow subscriber receives five thousand entries and blocks nobody',
    async run({ logs }) {
      const slow = follow(logs, 'sub.slow');
      await appendAll(logs, 'sub.slow', ['first']);
      same((await slow.take(1))[0]?.data, 'first');
      const fast = follow(logs, 'sub.slow');
      const pending = fast.take(5001);
      for (const block of range(50)) {
        await Promise.all(range(100).map((i) => logs.append('sub.slow', block * 100 + i)));
        if (block % 10 === 0) await slow.take(1);
      }
      const all = await pending;
      ascending(all);
      same(new Set(all.map((e) => e.data)).size, 5001, 'none is doubled');
      same((await slow.take(4995)).at(-1), all.at(-1), 'the slow one ends up at the same entry');
      same(await slow.stop(), []);
      same(await fast.stop(), []);
    },
  },
  {
    name: 'subscriptions: a slow subscriber receives exactly what was written',
    async run({ logs }) {
      const slow = follow(logs, 'sub.late.same');
      await appendAll(logs, 'sub.late.same', [{ i: -1 }]);
      await slow.take(1);
      await Promise.all(range(700).map((i) => logs.append('sub.late.same', { i })));
      const entries = await slow.take(700);
      same(entries, (await readAll(logs, 'sub.late.same')).slice(1));
      await slow.stop();
    },
  },
  {
    name: 'subscriptions: each of many subscribers of one stream receives everything',
    async run({ logs }) {
      const followers = range(100).map(() => follow(logs, 'sub.many'));
      const batches = followers.map((f) => f.take(20));
      const sequences = await appendAll(logs, 'sub.many', range(20));
      for (const entries of await Promise.all(batches))
        same(
          entries.map((e) => e.seq),
          sequences,
        );
      await Promise.all(followers.map((f) => f.stop()));
    },
  },
  {
    name: 'subscriptions: the signal ends a waiting subscription without an error',
    async run({ logs }) {
      const abort = new AbortController();
      const iterator = logs.subscribe('sub.abort', { signal: abort.signal })[Symbol.asyncIterator]();
      await logs.append('sub.abort', 1);
      same((await iterator.next()).value?.data, 1);
      const waiting = iterator.next();
      abort.abort();
      same((await waiting).done, true);
      same((await iterator.next()).done, true, 'and it stays ended');
      await logs.append('sub.abort', 2);
      same((await iterator.next()).done, true);
    },
  },
  {
    name: 'subscriptions: a signal that has already fired yields nothing',
    async run({ logs }) {
      await appendAll(logs, 'sub.fired', range(3));
      let count = 0;
      for await (const _ of logs.subscribe('sub.fired', { signal: AbortSignal.abort() })) count++;
      same(count, 0);
    },
  },
  {
    name: 'subscriptions: the signal soon ends a subscription with unread entries',
    async run({ logs }) {
      await Promise.all(range(2000).map((i) => logs.append('sub.soon', i)));
      const follower = follow(logs, 'sub.soon');
      await follower.take(5);
      ok((await follower.stop()).length < 1500, 'it does not read on to the end');
    },
  },
  {
    name: 'subscriptions: a subscription can be stopped and resumed after the last entry read',
    async run({ logs }) {
      const sequences = await appendAll(logs, 'sub.resume', range(50));
      const seqs: number[] = [];
      while (seqs.length < 50) {
        const { signal } = new AbortController();
        for await (const { seq } of logs.subscribe('sub.resume', { after: seqs.at(-1) ?? 0, signal })) {
          seqs.push(seq);
          if (seqs.length % 7 === 0 || seqs.length === 50) break;
        }
      }
      same(seqs, sequences);
    },
  },
];
