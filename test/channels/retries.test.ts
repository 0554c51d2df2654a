import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Env } from '../../src/base/env.ts';
import { isRelayError } from '../../src/base/errors.ts';
import type { Message } from '../../src/contract/channels.ts';
import type { Relay } from '../../src/contract/relay.ts';
import { TASK_GROUP } from '../../src/contract/tasks.ts';
import { openMemory } from '../../src/engines/memory/engine.ts';
import { openSqlite } from '../../src/engines/sqlite/engine.ts';
import type { Engine } from '../../src/kernel/engine.ts';
import { startProgram } from '../bridge/processes.ts';
import { relay as cli, temporaryHome } from '../cli/program.ts';
import { until } from '../until.ts';
import { BASE, callerNamed, claimOf, encode, MovedClock, openTestCore, readFrom } from './core.ts';

/** Joins the group, returns its next message, and leaves. */
async function next(relay: Relay): Promise<Message> {
  await using member = readFrom(relay, 'c', { group: 'g' });
  return (await member.take(1))[0]!;
}

const ENGINES: { [name: string]: (env: Env) => Promise<{ engine: Engine; done(): void }> } = {
  memory: async (env) => ({ engine: openMemory({ env }), done: () => {} }),
  sqlite: async (env) => {
    const home = await mkdtemp(join(tmpdir(), 'relay-retries-'));
    return { engine: await openSqlite({ home, env }), done: () => rmSync(home, { recursive: true }) };
  },
};

for (const [name, open] of Object.entries(ENGINES)) {
  test(`${name}: failed work is retried after 1 s, 5 s, 30 s and 2 min, in any process, and then becomes a dead letter`, async () => {
    const clock = new MovedClock();
    const { engine, done } = await open(clock);
    {
      await using t = openTestCore({}, { engine, clock });
      await t.relay.channels.publish('c', 'hard');
      let work = await next(t.relay);
      for (const wait of [1_000, 5_000, 30_000, 120_000]) {
        const now = Date.now() + t.shift;
        const { dead, retry_at } = await t.relay.channels.nack('c', 'g', claimOf(work));
        assert.equal(dead, false);
        const waits = retry_at! - now;
        assert.ok(waits >= wait && waits < wait * 1.2 + 5_000, `${waits} ms`);
        // Another process gets new messages, but gets the failed message only after its retry time.
        const elsewhere = t.another().relay(callerNamed('other'), BASE);
        await elsewhere.channels.publish('c', 'easy');
        const easy = await next(elsewhere);
        assert.equal(easy.msg, 'easy');
        await elsewhere.channels.ack('c', 'g', claimOf(easy));
        t.advance(waits + 1);
        const again = await next(elsewhere);
        assert.deepEqual([again.msg, again.attempt], ['hard', work.attempt! + 1]);
        work = again;
      }
      assert.deepEqual(await t.relay.channels.nack('c', 'g', claimOf(work)), { seq: work.seq, dead: true });
      const { letters } = await t.relay.channels.deadLetters('c');
      assert.deepEqual(
        letters.map(({ msg, dead }) => [msg, dead.attempts, dead.reason]),
        [['hard', 5, 'attempts']],
      );
      assert.equal((await t.relay.channels.inspect('c')).dead, 1);
    }
    done();
  });
}

test('a waiting member wakes up when the retry delay is over', async () => {
  await using t = openTestCore({ retryMs: [30] });
  await t.relay.channels.publish('c', 'hard');
  await using member = readFrom(t.relay, 'c', { group: 'g' });
  const [work] = await member.take(1);
  await t.relay.channels.nack('c', 'g', claimOf(work!));
  assert.equal((await member.take(1))[0]!.attempt, 2);
});

test('a group can set its own retry delays and reset them', async () => {
  await using t = openTestCore();
  await t.relay.channels.publish('c', 'hard');
  const work = await next(t.relay);
  assert.deepEqual(await t.relay.channels.setGroup('c', 'g', { retry: [600_000] }), { retry: [600_000] });
  const { retry_at } = await t.another().relay(callerNamed('b'), BASE).channels.nack('c', 'g', claimOf(work));
  assert.ok(retry_at! >= Date.now() + 590_000);
  assert.deepEqual(await t.relay.channels.setGroup('c', 'g', { retry: null }), {
    retry: [1_000, 5_000, 30_000, 120_000],
  });
  for (const retry of [[-1], [3_600_001], Array<number>(6).fill(1)]) {
    await assert.rejects(t.relay.channels.setGroup('c', 'g', { retry }), (e) =>
      isRelayError(e, 'bad_request'),
    );
  }
  await assert.rejects(t.relay.channels.setGroup('c', 'none', { retry: [] }), (e) =>
    isRelayError(e, 'not_found'),
  );
});

test('a dead letter is retried once, only by its group and from the first attempt, or dropped once', async () => {
  await using t = openTestCore({ attempts: 1 });
  const { channels, pointers, receipts } = t.relay;
  const { id } = await pointers.push({ body: encode('a payload'), channel: 'c' });
  await channels.publish('c', 'a signal');
  await using others = readFrom(t.relay, 'c', { group: 'others', prefetch: 10 });
  await others.take(2);
  for (let i = 0; i < 2; i++) await channels.nack('c', 'g', claimOf(await next(t.relay)));
  const [first, second] = (await channels.deadLetters('c')).letters;
  assert.ok(first && second);
  assert.match(first.url!, new RegExp(id));
  await until(async () => (await receipts.get(id)).receipts.some(({ rung }) => rung === 'dead'));
  const { receipts: rungs } = await receipts.get(id);
  const { at: _, ...dead } = rungs.find(({ rung }) => rung === 'dead')!;
  assert.deepEqual(dead, { rung: 'dead', by: 'relay', group: 'g', reason: 'attempts', attempts: 1 });

  assert.deepEqual(await channels.retryDead('c', first.seq), {
    channel: 'c',
    group: 'g',
    seq: first.dead.seq,
  });
  const again = await next(t.relay);
  assert.deepEqual([again.seq, again.attempt], [first.dead.seq, 1]);
  await channels.ack('c', 'g', claimOf(again));
  assert.equal(others.seen.length, 2);
  await channels.dropDead('c', second.seq);
  assert.deepEqual((await channels.deadLetters('c')).letters, []);
  for (const settle of [channels.retryDead, channels.dropDead]) {
    await assert.rejects(Promise.resolve(settle('c', first.seq)), (e) => isRelayError(e, 'not_found'));
  }
  assert.equal((await channels.inspect('c')).dead, 0);
});

test('retrying a failed task sends a new task, because the old one already has its result', async () => {
  await using t = openTestCore({ attempts: 1 });
  const { channels, pointers, tasks } = t.relay;
  const { id } = await pointers.push({
    body: encode('hard'),
    channel: 'agent-tasks',
    metadata: { summary: 'it' },
  });
  await using worker = readFrom(t.relay, 'agent-tasks', { group: TASK_GROUP });
  await channels.nack('agent-tasks', TASK_GROUP, claimOf((await worker.take(1))[0]!));
  await t.core.background.settle();
  assert.equal((await tasks.get(id)).state, 'failed');
  const [letter] = (await channels.deadLetters('agent-tasks')).letters;
  const { task } = await channels.retryDead('agent-tasks', letter!.seq);
  const [message] = await worker.take(1);
  assert.match(message!.url!, new RegExp(task!));
  const { state, summary, attempt } = await tasks.get(task!);
  assert.deepEqual([state, summary, attempt], ['running', 'it', 1]);
});

test('a message that the channel no longer keeps cannot be retried, and the error says so', async () => {
  await using t = openTestCore();
  const { channels, pointers } = t.relay;
  const { id } = await pointers.push({ body: encode('x'), channel: 'c' });
  await pointers.delete(id);
  await channels.publish('c', 'next');
  assert.equal((await next(t.relay)).msg, 'next');
  const [letter] = (await channels.deadLetters('c')).letters;
  await assert.rejects(channels.retryDead('c', letter!.seq), (e) => isRelayError(e, 'conflict'));
});

test('the worker prints what happens to failed work, and commands list, retry and drop dead letters', async () => {
  using scratch = temporaryHome();
  const { home } = scratch;
  await cli(['publish', 'jobs', 'one'], { home });
  const worker = ['watch', 'jobs', '--group', 'g', '--exec', 'test -e mended'];
  {
    await using first = startProgram([...worker, '-n', '1'], { home });
    assert.match((await first.ended).stderr, /exit code 1; it is retried in 1 second, attempt 2/);
  }
  const set = await cli(['channel', 'group', 'jobs', 'g', '--retry', '0'], { home });
  assert.equal(set.code, 0, set.stderr);
  {
    await using second = startProgram([...worker, '-n', '4'], { home });
    assert.match(
      (await second.ended).stderr,
      /a dead letter after 5 attempts, see: relay channel dead list jobs/,
    );
  }
  assert.match((await cli(['channel', 'inspect', 'jobs'], { home })).stdout, /1 letter: relay channel dead/);
  const listed = JSON.parse((await cli(['channel', 'dead', 'list', 'jobs', '--json'], { home })).stdout);
  assert.deepEqual([listed.letters.length, listed.letters[0].msg], [1, 'one']);
  const retried = await cli(['channel', 'dead', 'retry', 'jobs', '--all'], { home });
  assert.match(retried.stdout, /is delivered to g again/);
  {
    await using third = startProgram([...worker.slice(0, -1), 'echo $RELAY_ATTEMPT', '-n', '1'], { home });
    assert.equal((await third.ended).stdout, '1\n');
  }
  assert.equal((await cli(['channel', 'dead', 'drop', 'jobs', '7'], { home })).code, 3);
});
